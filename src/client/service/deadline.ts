import type { Clock } from "../../contract/clock.ts";

/** Why a deadline aborted its signal. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
  readonly seconds: number;

  constructor(seconds: number) {
    super(`nothing came within ${seconds} s`);
    this.seconds = seconds;
  }
}

/** Why a timer or a signal that nobody needs any more ends. One for all: to make the default one takes a stack each time. */
const noLongerNeeded = new Error("nobody waits for it any more");

/**
 * A signal that aborts with the outer one, and also when the armed time has passed. Disposing it stops the timer, lets
 * go of the outer signal, which may live as long as a window does, and closes what the signal still keeps open.
 */
export class Deadline implements Disposable {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  #timer = new AbortController();

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer.aborted) this.#abortWithOuter();
    else outer.addEventListener("abort", this.#abortWithOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time anew: the signal aborts with a {@link DeadlinePassed} after `seconds`. */
  arm(seconds: number): void {
    this.#timer.abort(noLongerNeeded);
    this.#timer = new AbortController();
    this.#clock.sleep(seconds * 1000, this.#timer.signal).then(
      () => this.#controller.abort(new DeadlinePassed(seconds)),
      () => undefined,
    );
  }

  /** Stops the time: nothing is waited for until it is armed again. */
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
