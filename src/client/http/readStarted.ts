import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { type Run, runSchema } from "../../contract/run.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Reply } from "./exchange.ts";
import { parseForeignJson } from "./foreignJson.ts";
import { LostStart } from "./lostStart.ts";
import { readReply } from "./readReply.ts";
import type { Ask, Service } from "./service.ts";

const someRunSchema = z.object({ runId: z.string().check(z.minLength(1)) });

/**
 * The run that the good reply to a start holds.
 * @throws PipelineError `breaks-contract` as `readReply`; a `LostStart` where the reply tells that there is a run all the same.
 */
export function readStarted(service: Service, ask: Ask, reply: Reply): Run {
  try {
    return readReply(service, ask, reply, runSchema);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    const runId = runIdIn(service, reply);
    if (runId === undefined && reply.status !== 201) throw error;
    throw new LostStart(error, runId);
  }
}

function runIdIn({ apiKey }: Service, { body }: Reply): string | undefined {
  try {
    const read = fromWire(someRunSchema, parseForeignJson(body, apiKey));
    return read.kind === "valid" ? read.value.runId : undefined;
  } catch {
    return undefined;
  }
}
