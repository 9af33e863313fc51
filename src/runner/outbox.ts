import type { Clock } from "../machine/clock.ts";
import type { Message } from "./launch/messages.ts";

/** So many pieces are sent at once, and from then on one every so many milliseconds. */
const burst = 8;
const pace = 25;

/**
 * Sends a run's messages in few pieces, since the service commits what comes together at once: of many short steps it would have to
 * write each alone, and would come to the run's end seconds later.
 */
export class Outbox {
  readonly #write: (text: string) => void;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  #waiting = "";
  #left = burst;
  #countedAt: number;
  #cancelTimer: (() => void) | undefined;

  constructor(write: (text: string) => void, clock: Pick<Clock, "monotonic" | "after">) {
    this.#write = write;
    this.#clock = clock;
    this.#countedAt = clock.monotonic();
  }

  send(messages: readonly Message[]): void {
    if (messages.length === 0) return;
    this.#waiting += linesOf(messages);
    const now = this.#clock.monotonic();
    this.#left = Math.min(burst, this.#left + (now - this.#countedAt) / pace);
    this.#countedAt = now;
    if (this.#left >= 1) this.flush();
    else this.#cancelTimer ??= this.#clock.after((1 - this.#left) * pace, () => this.flush());
  }

  /** Sends a message at once, before those that wait. */
  sendAhead(message: Message): void {
    this.#write(linesOf([message]));
  }

  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#waiting === "") return;
    this.#left -= 1;
    this.#write(this.#waiting);
    this.#waiting = "";
  }
}

function linesOf(messages: readonly Message[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}
