import { buffer } from "node:stream/consumers";
import type { Context } from "hono";
import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { agentSchema, idempotencyKeySchema } from "../../contract/run.ts";
import { fromWire } from "../../contract/wire.ts";
import { holdsSecret } from "../../machine/apiSecret.ts";
import { type AppEnv, largestRequest } from "./everyRequest.ts";

/** The request's JSON body. @throws PipelineError `invalid-request` naming the field that is wrong. */
export async function requestBody<Env extends AppEnv, T>(
  context: Context<Env>,
  schema: z.ZodMiniType<T>,
  most: number = largestRequest.bodyBytes,
): Promise<T> {
  const text = await bodyText(context, most);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new PipelineError("invalid-request", "The body is not JSON.", { cause });
  }
  const parsed = fromWire(schema, body);
  if (parsed.kind === "invalid")
    throw new PipelineError("invalid-request", `The body is not valid: ${parsed.problem}.`);
  return parsed.value;
}

/** The request's body as text. @throws as `bodyPieces`. */
export async function bodyText<Env extends AppEnv>(
  context: Context<Env>,
  most: number = largestRequest.bodyBytes,
): Promise<string> {
  return new TextDecoder().decode(await bodyBytes(context, most));
}

/** The request's body as it is. @throws as `bodyPieces`. */
export function bodyBytes<Env extends AppEnv>(context: Context<Env>, most: number): Promise<Buffer> {
  return buffer(bodyPieces(context, most));
}

/**
 * The request's body piece by piece, read directly from Node's stream: hono would wrap it in a web stream.
 * @throws PipelineError `payload-too-large` for more than `most` bytes; `invalid-request` for one that is incomplete.
 */
export async function* bodyPieces<Env extends AppEnv>(
  { env: { incoming, outgoing } }: Context<Env>,
  most: number,
): AsyncGenerator<Buffer, void> {
  const refuse = (bytes: number) => {
    if (bytes <= most) return;
    throw new PipelineError("payload-too-large", `A request's body has at most ${most} bytes.`);
  };
  refuse(Number(incoming.headers["content-length"] ?? 0));
  if (incoming.headers.expect !== undefined && !outgoing.headersSent) outgoing.writeContinue();
  let bytes = 0;
  try {
    // The connection is still needed for the reply, even for one that says that the body is too long.
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      bytes += piece.length;
      refuse(bytes);
      yield piece;
    }
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError("invalid-request", "The body is incomplete.", { cause });
  }
}

/**
 * The request's query. Of a repeated name, the first counts.
 * @param numbers the names of numeric values.
 * @param lists the names that may be repeated.
 * @throws PipelineError `invalid-request` naming what is wrong.
 */
export function requestQuery<T>(
  context: Context,
  schema: z.ZodMiniType<T>,
  numbers: readonly string[],
  lists: readonly string[] = [],
): T {
  const query = Object.entries(context.req.query()).map(([name, text]) => [
    name,
    lists.includes(name)
      ? context.req.queries(name)
      : numbers.includes(name) && /^\d{1,15}$/.test(text)
        ? Number(text)
        : text,
  ]);
  const parsed = fromWire(schema, Object.fromEntries(query));
  if (parsed.kind === "valid") return parsed.value;
  throw new PipelineError("invalid-request", `The query is not valid: ${parsed.problem}.`);
}

/** The seconds of `Prefer: wait=<seconds>` (RFC 7240). Ignores other preferences. */
export function readWait(header: string | undefined): number {
  const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(header ?? "")?.[1];
  return wait === undefined ? 0 : Number(wait);
}

/** @throws PipelineError `invalid-request` for one that is too long, or that holds an API key. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = idempotencyKeySchema.safeParse(header);
  if (parsed.success && !holdsSecret(header)) return header;
  throw new PipelineError("invalid-request", "Idempotency-Key should have 1 to 255 characters.", {
    next: "Send a new name for each request, such as a UUID; never an API key.",
  });
}

/** @throws PipelineError `invalid-request` for one that is too long, not printable, or holds an API key. */
export function readAgent(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (agentSchema.safeParse(header).success && !holdsSecret(header)) return header;
  throw new PipelineError("invalid-request", "Agent should have 1 to 100 characters of printable ASCII.", {
    next: "Send the agent's name; never an API key.",
  });
}
