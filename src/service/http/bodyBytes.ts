import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppEnv } from "./everyRequest.ts";

/** The request's body as it is. @throws as `bodyStream`. */
export async function bodyBytes<Env extends AppEnv>(context: Context<Env>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyStream(context, most).pieces) pieces.push(piece);
  return Buffer.concat(pieces);
}

/**
 * The request's body as it comes.
 * @throws PipelineError `payload-too-large` for more than `most` bytes, before they are read; `invalid-request` for one that
 *   doesn't say how long it is, or, while it is read, is incomplete.
 */
export function bodyStream<Env extends AppEnv>(
  context: Context<Env>,
  most: number,
): { readonly length: number; readonly pieces: AsyncGenerator<Uint8Array, void> } {
  const length = Number(context.env.incoming.headers["content-length"] ?? Number.NaN);
  if (Number.isNaN(length)) {
    throw new PipelineError("invalid-request", "The request doesn't say how long its body is.", {
      next: "Send it with Content-Length.",
    });
  }
  if (length > most) {
    throw new PipelineError("payload-too-large", `The body has ${length} bytes; at most ${most} are taken.`);
  }
  return { length, pieces: piecesOf(context.req.raw.body) };
}

async function* piecesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body ?? [];
  } catch (cause) {
    throw new PipelineError("invalid-request", "The body is incomplete.", { cause });
  }
}
