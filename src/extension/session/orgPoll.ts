import type { Clock } from "../../client/clock.ts";
import { OutOfReach } from "../../client/http/outOfReach.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import type { Observed } from "../observed.ts";
import type { Alarm } from "../windows/alarm.ts";
import type { Said, SharedNumbers } from "../windows/sharedNumbers.ts";
import { resetOf } from "./reading.ts";

export interface OrgPollDeps {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly isFocused: Observed<boolean>;
  readonly shared: SharedNumbers;
  /** Rung when the window is focused, and when the machine has slept. */
  readonly alarm: Alarm;
  readonly onSaid: (said: Said) => void;
}

/** How often the service is asked, in milliseconds: while somebody looks, and while nobody does. */
const every = { focused: 30_000, unfocused: 300_000 } as const;
/** A window that is looked at again tries a service that was out of reach, but not more often than this. */
const soonest = 2_000;
const firstPause = 1_000;
/** Over how long the windows of many people spread their first question of the day, in milliseconds. */
const newDaySpread = 3_000;
/**
 * The new day's numbers are asked for so many milliseconds after the last ones, at the soonest: the reset that a service
 * is about to reach by its clock never comes where that clock stands still.
 */
const soonestNewDay = 10_000;
/** A machine that sleeps stops its timers, so the time of day is looked at now and then; that asks for nothing. */
const lookEvery = 20_000;
/** How long to leave another window alone that is asking. */
const patience = 500;

/**
 * Asks a service that has no events for the org's numbers: every 30 s while the window is focused, every 5 min while it
 * isn't, and at the beginning of the service's day. The windows that share their numbers ask as one. A service that
 * gives no answer is asked after growing pauses, and never before it wants to be (`Retry-After`).
 */
export class OrgPoll {
  readonly #client: ServiceClient;
  readonly #deps: OrgPollDeps;
  readonly #spread: number;
  #said: Said | undefined;
  /** Somebody has come back to the window since the service was asked last. */
  #isEager = false;

  constructor(client: ServiceClient, deps: OrgPollDeps) {
    this.#client = client;
    this.#deps = deps;
    this.#spread = deps.random() * newDaySpread;
  }

  /** Asks until the signal aborts. @throws PipelineError `unauthorized` when the key is not accepted. */
  async run(signal: AbortSignal): Promise<void> {
    const { alarm, clock, isFocused, shared } = this.#deps;
    const watching = shared.onDidChange(() => alarm.ring());
    const following = isFocused.follow((isFocusedNow) => {
      this.#isEager = isFocusedNow;
      if (isFocusedNow) alarm.ring();
    });
    try {
      while (!signal.aborted) {
        await this.#look();
        const wait = this.#due() - clock.now();
        if (wait > 0) await alarm.sleep(Math.min(wait, lookEvery), signal);
        else if (!(await this.#ask(signal))) await alarm.sleep(patience, signal);
      }
    } finally {
      following.dispose();
      watching.dispose();
    }
  }

  /** Takes numbers that somebody else has asked for, such as after a command. */
  async put(org: Org, servedAt: number | undefined): Promise<void> {
    const at = this.#deps.clock.now();
    await this.#tell({ kind: "org", at, servedAt: servedAt ?? at, org });
    this.#deps.alarm.ring();
  }

  /** Takes what another window was told, when it is newer. */
  async #look(): Promise<void> {
    const said = await this.#deps.shared.read();
    if (said === undefined || said.at > this.#deps.clock.now()) return;
    if (this.#said !== undefined && said.at <= this.#said.at) return;
    this.#said = said;
    this.#deps.onSaid(said);
  }

  /** When to ask next, by the time of day. */
  #due(): number {
    const { clock, isFocused } = this.#deps;
    const said = this.#said;
    // A time to come was noted before the clock was set back.
    if (said === undefined || said.at > clock.now()) return clock.now();
    const interval = isFocused.value ? every.focused : every.unfocused;
    if (said.kind === "org") {
      const newDay = Math.max(resetOf(said) + this.#spread, said.at + soonestNewDay);
      return Math.min(said.at + interval, newDay);
    }
    if (said.asWanted) return said.retryAt;
    return Math.min(said.retryAt, said.at + (this.#isEager ? soonest : interval));
  }

  /** @returns false when another window is asking. */
  async #ask(signal: AbortSignal): Promise<boolean> {
    const { clock, shared } = this.#deps;
    const giveBack = await shared.tryLock();
    if (giveBack === undefined) return false;
    try {
      // The other window may have been answered just before the lock was free.
      await this.#look();
      if (this.#due() > clock.now()) return true;
      this.#isEager = false;
      await this.#tell(await this.#answer(signal));
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      throw error;
    } finally {
      await giveBack();
    }
  }

  async #answer(signal: AbortSignal): Promise<Said> {
    const { clock, isFocused, random } = this.#deps;
    try {
      const { org, servedAt } = await this.#client.orgAndTime(signal);
      const at = clock.now();
      return { kind: "org", at, servedAt: servedAt ?? at, org };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof PipelineError) || error.type === "unauthorized") throw error;
      const count = this.#said?.kind === "fault" ? this.#said.count + 1 : 1;
      const longest = isFocused.value ? every.focused : every.unfocused;
      const pause = Math.min(firstPause * 1.5 ** count, longest) * (1 - random() / 3);
      const wanted = error instanceof OutOfReach ? error.retryAfterSeconds : undefined;
      const at = clock.now();
      return {
        kind: "fault",
        at,
        message: error.message,
        next: error.next,
        retryAt: at + Math.max(pause, (wanted ?? 0) * 1000),
        asWanted: wanted !== undefined,
        count,
      };
    }
  }

  async #tell(said: Said): Promise<void> {
    this.#said = said;
    this.#deps.onSaid(said);
    await this.#deps.shared.write(said);
  }
}

/** How old numbers may be, in milliseconds, for them to tell that a window is asking now and then. */
const askedLately = every.unfocused + 30_000;

/** Whether another window asks the service now and then: it has found already that there are no events. */
export async function isAsked(shared: SharedNumbers, clock: Clock): Promise<boolean> {
  const said = await shared.read();
  return said !== undefined && !isOld(said, clock);
}

/** Whether numbers are older than any that are asked for now and then, so that they are not shown as they are now. */
export function isOld({ at }: { readonly at: number }, clock: Clock): boolean {
  const age = clock.now() - at;
  return age < 0 || age > askedLately;
}
