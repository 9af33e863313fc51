import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppDeps } from "./appDeps.ts";
import type { AppEnv } from "./everyRequest.ts";
import type { LiveType } from "./openReplies.ts";

/** How long a reply may be silent before a comment shows each end that the other is there, in milliseconds. */
export const silenceMilliseconds = 15_000;
/** How long a reader may take nothing before it is cut off, in milliseconds. It can reconnect and go on where it was. */
const stallMilliseconds = 60_000;

/** The live replies that one key may have. Every face holds one or two, and this machine's faces share a key. */
const mostPerKey = 100;

interface LiveReply {
  readonly contentType: LiveType;
  /** Yields the reply piece by piece, no faster than it is read. Ends soon after its signal is aborted. */
  readonly pieces: (signal: AbortSignal) => AsyncGenerator<string, void>;
}

/**
 * A reply that goes on for as long as there are pieces.
 * @throws PipelineError `conflict` when the key already has the most live replies that it may.
 */
export function liveReply<Env extends AppEnv>(
  context: Context<Env>,
  { clock, log, replies }: Pick<AppDeps, "clock" | "log" | "replies">,
  { contentType, pieces }: LiveReply,
): Response {
  // Otherwise nginx would hold pieces back until its buffers are full.
  const headers = { "content-type": contentType, "cache-control": "no-store", "x-accel-buffering": "no" };
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const { outgoing } = context.env;
  const open = context.get("open");
  if (replies.countLive(open.keyId) >= mostPerKey) {
    throw new PipelineError(
      "conflict",
      `This key follows ${mostPerKey} events and logs already, the most that it may.`,
      {
        next: "Close some of these connections, or follow them with another key.",
      },
    );
  }
  open.live = contentType;
  const left = new AbortController();
  const encoder = new TextEncoder();
  const source = pieces(left.signal);
  let cancelStallTimer = () => {};
  /** @returns undefined at the end, and when the reader has left. */
  const nextPiece = async (): Promise<string | undefined> => {
    try {
      const piece = await source.next();
      return piece.done === true ? undefined : piece.value;
    } catch (error) {
      if (left.signal.aborted) return undefined;
      log("error", "a live reply broke off", { path: context.req.path, error });
      // Ending it in order would make the reply look complete.
      outgoing.destroy();
      return undefined;
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        cancelStallTimer();
        const piece = await nextPiece();
        if (left.signal.aborted) return;
        if (piece === undefined) return controller.close();
        controller.enqueue(encoder.encode(piece));
        cancelStallTimer = clock.after(stallMilliseconds, () => {
          log("info", "a reader was cut off: it takes nothing", { path: context.req.path });
          outgoing.destroy();
        });
      },
      async cancel() {
        cancelStallTimer();
        left.abort();
        await source.return();
      },
    },
    { highWaterMark: 0 },
  );
  return context.body(body, 200, headers);
}
