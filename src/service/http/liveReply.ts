import type { Context } from "hono";
import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";
import type { AppEnv } from "./everyRequest.ts";
import type { OpenReplies } from "./openReplies.ts";

/** After so much silence, in milliseconds, a comment shows both ends that the other is there. */
export const silenceMilliseconds = 15_000;
/** A reader that takes nothing for so long, in milliseconds, is cut off. It comes back and goes on where it was. */
const patienceMilliseconds = 60_000;

/** How many live replies one key may have open at once. Every face holds one or two, and the machine's own faces share a key. */
const mostOfKey = 100;

export interface LiveDeps {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  readonly replies: Pick<OpenReplies, "liveOf">;
}

interface LiveReply {
  readonly contentType: "text/event-stream" | "application/x-ndjson";
  /**
   * Makes what is sent, piece by piece, no faster than it is read. It ends soon once its signal is aborted.
   * @param cutOff breaks the reply off at once, with all that waits to be sent: an end would say that this was all.
   */
  readonly pieces: (signal: AbortSignal, cutOff: (why: string) => void) => AsyncGenerator<string, void>;
}

/**
 * A reply that goes on for as long as its pieces come. Nothing of it is made before it is read.
 * @throws PipelineError `conflict` when the key has as many of them open as it may.
 */
export function liveReply<Env extends AppEnv>(
  context: Context<Env>,
  { clock, log, replies }: LiveDeps,
  { contentType, pieces }: LiveReply,
): Response {
  const headers = { "content-type": contentType, "cache-control": "no-store" };
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const { outgoing } = context.env;
  const open = context.get("open");
  if (replies.liveOf(open.keyId) >= mostOfKey) {
    throw new PipelineError(
      "conflict",
      `This key follows ${mostOfKey} events and logs already, the most that it may.`,
      {
        next: "Close some of these connections, or follow them with another key.",
      },
    );
  }
  open.goesLive({ isEventStream: contentType === "text/event-stream" });
  const left = new AbortController();
  const leave = () => left.abort();
  const encoder = new TextEncoder();
  const cutOff = (why: string) => {
    log("info", "a reader was cut off", { path: context.req.path, why });
    outgoing.destroy();
  };
  const source = pieces(left.signal, cutOff);
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
        stopPatience = clock.after(patienceMilliseconds, () => cutOff("it takes nothing"));
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

/** Wakes one who waits for news. Rung while nobody waits, it wakes the next one at once. */
export class Bell {
  #isRung = false;
  #wake = (): void => {};

  ring = (): void => {
    this.#isRung = true;
    this.#wake();
  };

  /**
   * Waits until it is rung, for at most so many milliseconds.
   * @returns whether it was rung; also when the signal is aborted, which the caller looks at.
   */
  async wait(clock: Pick<Clock, "after">, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isRung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const stopTimer = clock.after(milliseconds, resolve);
        this.#wake = () => {
          stopTimer();
          resolve();
        };
        signal.addEventListener("abort", this.#wake, { once: true });
      });
      signal.removeEventListener("abort", this.#wake);
      this.#wake = () => {};
    }
    const wasRung = this.#isRung;
    this.#isRung = false;
    return wasRung;
  }
}
