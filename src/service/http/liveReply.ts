import type { Context } from "hono";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { AppEnv } from "./appEnv.ts";

/** After so much silence, in milliseconds, a comment shows both ends that the other is there. */
export const silenceMilliseconds = 15_000;
/** A reader that takes nothing for so long, in milliseconds, is cut off. It comes back and goes on where it was. */
const patienceMilliseconds = 60_000;

interface LiveReply {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  readonly contentType: "text/event-stream" | "application/x-ndjson";
  /** Makes what is sent, piece by piece, no faster than it is read. It ends soon once its signal is aborted. */
  readonly pieces: (signal: AbortSignal) => AsyncGenerator<string, void>;
}

/** A reply that goes on for as long as its pieces come. Nothing of it is made before it is read. */
export function liveReply<Env extends AppEnv>(
  context: Context<Env>,
  { clock, log, contentType, pieces }: LiveReply,
): Response {
  const headers = { "content-type": contentType, "cache-control": "no-store" };
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const { outgoing } = context.env;
  const left = new AbortController();
  const leave = () => left.abort();
  const encoder = new TextEncoder();
  const source = pieces(left.signal);
  let stopPatience = () => {};
  /** @returns undefined at the end, and when nobody reads any more. */
  const nextPiece = async (): Promise<string | undefined> => {
    try {
      const piece = await source.next();
      return piece.done === true ? undefined : piece.value;
    } catch (error) {
      if (left.signal.aborted) return undefined;
      log("error", "a live reply broke off", { path: context.req.path, error });
      // An end would say that this was all.
      outgoing.destroy();
      return undefined;
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        stopPatience();
        const piece = await nextPiece();
        if (left.signal.aborted) return;
        if (piece === undefined) return controller.close();
        controller.enqueue(encoder.encode(piece));
        stopPatience = clock.after(patienceMilliseconds, () => {
          log("info", "a reader that didn't read was cut off", { path: context.req.path });
          outgoing.destroy();
        });
      },
      async cancel() {
        stopPatience();
        leave();
        await source.return();
      },
    },
    { highWaterMark: 0 },
  );
  return context.body(body, 200, headers);
}
