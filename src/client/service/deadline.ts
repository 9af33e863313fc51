import type { Clock } from "../../machine/clock.ts";

/** Why a deadline aborted its signal. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
  readonly seconds: number;

  constructor(seconds: number) {
    super(`nothing came within ${seconds} s`);
    this.seconds = seconds;
  }
}

/** The abort reason of what is no longer needed. Shared, since each new error captures a stack. */
const noLongerNeeded = new Error("nobody waits for it any more");

/**
 * A signal that aborts with an outer one or when the armed time has passed. Disposal stops the timer, removes the listener from
 * the outer signal, which may outlive it by hours, and aborts the signal.
 */
export class Deadline implements Disposable {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  #timer = new AbortController();

  /** @param seconds arms it at once. */
  constructor(clock: Clock, outer: AbortSignal, seconds?: number) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer.aborted) this.#abortWithOuter();
    else outer.addEventListener("abort", this.#abortWithOuter, { once: true });
    if (seconds !== undefined) this.arm(seconds);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the timer: the signal aborts with a {@link DeadlinePassed} after `seconds`. */
  arm(seconds: number): void {
    this.#timer.abort(noLongerNeeded);
    this.#timer = new AbortController();
    this.#clock.sleep(seconds * 1000, this.#timer.signal).then(
      () => this.#controller.abort(new DeadlinePassed(seconds)),
      () => undefined,
    );
  }

  /** Stops the timer until it is armed again. */
  disarm(): void {
    this.#timer.abort(noLongerNeeded);
  }

  [Symbol.dispose](): void {
    this.#timer.abort(noLongerNeeded);
    this.#outer.removeEventListener("abort", this.#abortWithOuter);
    this.#controller.abort(noLongerNeeded);
  }

  readonly #abortWithOuter = (): void => this.#controller.abort(this.#outer.reason);
}
