import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppEnv } from "./everyRequest.ts";

/**
 * The request's body as it is.
 * @throws PipelineError `payload-too-large` for more than `most` bytes, before they are read; `invalid-request` for one that
 *   doesn't say how long it is, or is incomplete.
 */
export async function bodyBytes<Env extends AppEnv>(context: Context<Env>, most: number): Promise<Buffer> {
  const length = Number(context.env.incoming.headers["content-length"] ?? Number.NaN);
  if (Number.isNaN(length)) {
    throw new PipelineError("invalid-request", "The request doesn't say how long its body is.", {
      next: "Send it with Content-Length.",
    });
  }
  if (length > most) {
    throw new PipelineError("payload-too-large", `The body has ${length} bytes; at most ${most} are taken.`);
  }
  try {
    return Buffer.from(await context.req.arrayBuffer());
  } catch (cause) {
    throw new PipelineError("invalid-request", "The body is incomplete.", { cause });
  }
}
