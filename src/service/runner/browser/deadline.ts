import { setTimeout as pause } from "node:timers/promises";
import { formatDuration } from "../../../pipeline/schema/duration.ts";

/** Thrown to who waits for something when there is no more time for it. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/** Whether the browser's driver had no more time. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}

const whyMilliseconds = 2000;
/** A slow machine at work may take seconds for a picture; a page that hangs gives none at all. */
const pictureMilliseconds = 10_000;

/** How long something may take, and what ends it before. */
export class Deadline {
  /** In milliseconds, the whole time. */
  readonly milliseconds: number;
  readonly #end: number;
  readonly #signal: AbortSignal;

  constructor(milliseconds: number, signal: AbortSignal) {
    this.milliseconds = milliseconds;
    this.#end = performance.now() + milliseconds;
    this.#signal = signal;
  }

  /** In milliseconds, at least 1: to who takes it for a timeout, 0 would mean that there is none. */
  get left(): number {
    return Math.max(1, Math.ceil(this.#end - performance.now()));
  }

  get isOver(): boolean {
    return this.#signal.aborted || performance.now() >= this.#end;
  }

  /** A shorter one, which this one's end ends as well. */
  atMost(milliseconds: number): Deadline {
    return new Deadline(Math.min(milliseconds, this.left), this.#signal);
  }

  /** A short while in which to find out what is wrong, also when the time itself is over. */
  forDiagnosis(): Deadline {
    return new Deadline(whyMilliseconds, this.#signal);
  }

  /** The time in which a page can be pictured, also when the time itself is over. */
  forScreenshot(): Deadline {
    return new Deadline(pictureMilliseconds, this.#signal);
  }

  /**
   * What `work` comes to, when it does so in time. A page whose script never ends would answer never.
   *
   * @param patience how much later than the end, in milliseconds, for work that has a timeout of its own and tells more.
   * @throws DeadlineExceeded
   */
  async within<T>(work: Promise<T>, patience = 0): Promise<T> {
    const over = Promise.withResolvers<never>();
    const stop = () => over.reject(new DeadlineExceeded());
    const timer = setTimeout(stop, this.left + patience);
    this.#signal.addEventListener("abort", stop);
    if (this.#signal.aborted) stop();
    try {
      return await Promise.race([work, over.promise]);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener("abort", stop);
    }
  }

  /** For a message on what didn't happen: "within 10 s, the step's `timeout`". */
  describe(): string {
    return `within ${formatDuration(this.milliseconds)}, the step's \`timeout\``;
  }

  /** For a message on what was so at the end: "when 10 s, the step's `timeout`, were over". */
  describeEnd(): string {
    return `when ${formatDuration(this.milliseconds)}, the step's \`timeout\`, were over`;
  }
}

const pauseMilliseconds = 100;

/** What a look at a page that is just going elsewhere ends with. The next look sees the new page. */
const isNavigating =
  /Execution context was destroyed|Cannot find context|Frame was detached|frame got detached|Target page, context or browser has been closed|has been closed|Unable to adopt element handle|Unable to retrieve content/i;

/**
 * Looks again and again until there is something to see, and once more when the time is over: on a busy machine there
 * may have been no time for a look at all.
 *
 * @returns undefined when there was nothing to see.
 */
export async function poll<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  return (await pollUntil(deadline, look)) ?? (await pollOnce(deadline.forDiagnosis(), look));
}

async function pollUntil<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (;;) {
    const seen = await pollOnce(deadline, look);
    if (seen !== undefined || deadline.isOver) return seen;
    await pause(Math.min(pauseMilliseconds, deadline.left));
  }
}

async function pollOnce<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    return await deadline.within(look(deadline));
  } catch (error) {
    if (error instanceof DeadlineExceeded || isTimeout(error)) return undefined;
    if (error instanceof Error && isNavigating.test(error.message)) return undefined;
    throw error;
  }
}
