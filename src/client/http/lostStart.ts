import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { runCommand } from "../../contract/refusal.ts";
import { type Run, runSchema } from "../../contract/run.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Reply } from "./exchange.ts";
import { parseForeignJson } from "./foreignText.ts";
import { readReply } from "./readReply.ts";
import type { Ask, Service } from "./service.ts";

/** A start whose answer was lost or can't be read, so that there may be a run of it, also of one that seems to have failed. */
export class LostStart extends PipelineError {
  /** Where the answer could be read that far; that run was started for certain. */
  readonly runId: string | undefined;

  /** @param cause why the answer isn't known; its words are kept. */
  constructor(cause: PipelineError, runId?: string) {
    const next =
      runId === undefined
        ? "A run may have been started all the same: look at `pipeline runs list --in-work` before you try again."
        : `The run ${runId} was started all the same: \`${runCommand("show", runId)}\` tells of it, and \`${runCommand("cancel", runId)}\` ends it.`;
    super(cause.type, cause.message, { cause, next });
    this.runId = runId;
  }
}

const someRunSchema = z.object({ runId: z.string().check(z.minLength(1)) });

/**
 * The run that the good reply to a start holds.
 * @throws LostStart where it can't be read: there may be a run all the same; `breaks-contract` for a web page.
 */
export function readStarted(service: Service, ask: Ask, reply: Reply): Run {
  try {
    return readReply(service, ask, reply, runSchema);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    // What answers every request with a web page has started nothing.
    if (reply.status !== 201 && reply.headers.get("content-type")?.includes("html")) throw error;
    throw new LostStart(error, runIdIn(service, reply));
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
