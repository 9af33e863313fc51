import { setImmediate as turn } from "node:timers/promises";
import type { Fetch } from "../../../src/client/service/request.ts";
import type { FakeClock } from "../../clock/fakeClock.ts";

/** Knows what windows are about to do, so that a test's clock goes on only when they do nothing but sleep. */
export class Activity {
  /** Requests that were sent; a stream counts once. */
  requests = 0;
  #busy = 0;
  #streams = 0;
  #lastHeard = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly fetch: Fetch = async (url, request) => {
    this.requests += 1;
    const response = await this.#during(() => fetch(url, request));
    const { body, status, headers } = response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (body === null) return { status, headers, body };
    return { status, headers, body: isStream ? this.#heard(body) : this.#read(body) };
  };

  /** Lets so many seconds pass, one after the other, each as soon as nobody does anything any more. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.settled();
      this.#clock.advance(1000);
    }
    await this.settled();
  }

  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet++) {
      await turn();
      // A stream is silent for 15 s at most, unless what was written is still on its way.
      const isLate = this.#streams > 0 && this.#clock.monotonic() - this.#lastHeard >= 30_000;
      if (this.#busy > 0 || isLate) quiet = -1;
    }
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
    }
  }

  async *#read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#busy += 1;
    try {
      yield* body;
    } finally {
      this.#busy -= 1;
    }
  }

  async *#heard(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#streams += 1;
    this.#lastHeard = this.#clock.monotonic();
    try {
      for await (const chunk of body) {
        this.#lastHeard = this.#clock.monotonic();
        yield chunk;
      }
    } finally {
      this.#streams -= 1;
    }
  }
}
