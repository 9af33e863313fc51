import { addAbortListener } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { duration } from "../../text/time.ts";
import { StepFault } from "../step/stepContext.ts";

/** Thrown when the deadline passes. */
export class DeadlineExceeded extends StepFault {
  override readonly name = "DeadlineExceeded";
}

/** Whether the error is a timeout of the browser's driver. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}

const whyMilliseconds = 2000;
/** On a slow machine a screenshot may take seconds. */
const pictureMilliseconds = 10_000;

/** A time limit that a signal can end early. */
export class StepDeadline {
  /** In milliseconds, the whole time. */
  readonly milliseconds: number;
  readonly #end: number;
  readonly #signal: AbortSignal;
  readonly #ask: () => Promise<unknown>;
  #answers: Promise<boolean> | undefined;
  #isDeaf = false;

  /** @param ask resolves once the page answers anything. */
  constructor(
    milliseconds: number,
    signal: AbortSignal,
    ask: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.milliseconds = milliseconds;
    this.#end = performance.now() + milliseconds;
    this.#signal = signal;
    this.#ask = ask;
  }

  /** The milliseconds left, at least 1: as a timeout, 0 means none. */
  get left(): number {
    return Math.max(1, Math.ceil(this.#end - performance.now()));
  }

  get isOver(): boolean {
    return this.#signal.aborted || performance.now() >= this.#end;
  }

  /** A shorter deadline with the same signal. */
  atMost(milliseconds: number): StepDeadline {
    return new StepDeadline(Math.min(milliseconds, this.left), this.#signal);
  }

  /** Whether the page answers at all. Asked only once, and for a short time. */
  pageAnswers(): Promise<boolean> {
    this.#answers ??= this.pageAnswersNow().then((does) => {
      this.#isDeaf = !does;
      return does;
    });
    return this.#answers;
  }

  /** Whether the page answers now. @param milliseconds the longest wait for its answer, itself limited to `whyMilliseconds`. */
  async pageAnswersNow(milliseconds = whyMilliseconds): Promise<boolean> {
    const short = new StepDeadline(milliseconds, this.#signal);
    try {
      await short.within(this.#ask());
      return true;
    } catch (error) {
      return !(error instanceof DeadlineExceeded);
    }
  }

  /** A short deadline for finding out what is wrong, even after this one has passed. Over at once if the page doesn't answer. */
  forDiagnosis(): StepDeadline {
    void this.pageAnswers();
    return new StepDeadline(this.#isDeaf ? 0 : whyMilliseconds, this.#signal);
  }

  /** Asks a page what is wrong with it, even after this deadline. @returns undefined where it doesn't respond. */
  async askBriefly<T>(ask: (short: StepDeadline) => Promise<T>): Promise<T | undefined> {
    const short = this.forDiagnosis();
    try {
      return await short.within(ask(short));
    } catch {
      return undefined;
    }
  }

  /** A deadline for a screenshot, even after this one has passed. */
  forScreenshot(): StepDeadline {
    return new StepDeadline(pictureMilliseconds, this.#signal);
  }

  /**
   * Awaits `work` up to the deadline: a page whose script never ends would never answer.
   *
   * @param patience extra milliseconds, for work whose own timeout has a better message.
   * @throws DeadlineExceeded
   */
  async within<T>(work: Promise<T>, patience = 0): Promise<T> {
    const over = Promise.withResolvers<never>();
    const stop = () => over.reject(new DeadlineExceeded(`the page didn't respond ${this.describe()}`));
    const timer = setTimeout(stop, this.left + patience);
    using _ = addAbortListener(this.#signal, stop);
    try {
      return await Promise.race([work, over.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** For messages: "within 10 s, the step's `timeout`". */
  describe(): string {
    return `within ${duration(this.milliseconds)}, the step's \`timeout\``;
  }

  /** For messages: "when 10 s, the step's `timeout`, were over". */
  describeEnd(): string {
    return `when ${duration(this.milliseconds)}, the step's \`timeout\`, were over`;
  }
}

const pauseMilliseconds = 100;

/** Errors of a page or a frame that is navigating. The next poll sees the new one. */
const navigating =
  /Execution context was destroyed|Cannot find context|Frame was detached|frame got detached|has been closed|Unable to adopt element handle|Unable to retrieve content/i;

export function isNavigating(error: unknown): boolean {
  return error instanceof Error && !(error instanceof StepFault) && navigating.test(error.message);
}

/**
 * Calls `attempt` until it returns a value, and once more after the deadline: on a busy machine there may have been no time
 * for any call.
 *
 * @returns undefined when there was no value.
 */
export async function poll<T>(
  deadline: StepDeadline,
  attempt: (deadline: StepDeadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let isLast = false; ; ) {
    const now = isLast ? deadline.forDiagnosis() : deadline;
    try {
      const value = await now.within(attempt(now));
      if (value !== undefined) return value;
    } catch (error) {
      if (!(error instanceof DeadlineExceeded || isTimeout(error) || isNavigating(error))) throw error;
    }
    if (isLast) return undefined;
    isLast = deadline.isOver;
    if (!isLast) await pause(Math.min(pauseMilliseconds, deadline.left));
  }
}
