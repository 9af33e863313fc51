import { setImmediate as turn } from "node:timers/promises";
import type { FakeClock } from "../clock/fakeClock.ts";
import type { LoopbackService } from "./loopbackService.ts";

/** A fetch that knows how many of its exchanges are not over: asked and not yet read to the end. */
export class CountedFetch {
  busy = 0;

  readonly fetch: typeof fetch = async (input, init) => {
    this.busy += 1;
    let counted = true;
    const over = (): void => {
      if (counted) this.busy -= 1;
      counted = false;
    };
    init?.signal?.addEventListener("abort", over, { once: true });
    try {
      const response = await fetch(input, init);
      const { body, status, headers } = response;
      if (body === null) {
        over();
        return response;
      }
      const passed = body.pipeThrough(new TransformStream({ flush: over }));
      return new Response(passed, { status, headers });
    } catch (error) {
      over();
      throw error;
    }
  };
}

const mostTurns = 300_000;

/**
 * Lets time pass, from one sleeper's moment to the next, whenever everybody does nothing but sleep, until the promise
 * has settled. So an hour of waiting takes no time, and no request is overtaken by the clock.
 */
export async function drive<T>(
  promise: Promise<T>,
  clock: FakeClock,
  service: LoopbackService,
  counted: CountedFetch,
): Promise<T> {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  for (let turns = 0; !settled; turns++) {
    if (turns > mostTurns) throw new Error("the clock stands still: a request is never answered");
    await turn();
    if (counted.busy !== service.held) continue;
    await turn();
    await turn();
    if (!settled && counted.busy === service.held) clock.advanceToNext();
  }
  return promise;
}
