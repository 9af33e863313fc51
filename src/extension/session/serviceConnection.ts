import { watchEvents } from "../../client/follow/events.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import type { Clock } from "../../contract/clock.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { ServiceEvent } from "../../contract/service.ts";
import type { ObservableValue } from "../window/observable.ts";
import { isOfAnotherDay, type OrgReading, resetOf } from "./orgReading.ts";
import type { Session, SessionDeps } from "./session.ts";

export interface ServiceConnectionDeps extends Pick<SessionDeps, "clock" | "log"> {
  /** What this window knows of the service, which the connection tells. */
  readonly session: Pick<Session, "state" | "reading" | "runChanged">;
  readonly isFocused: ObservableValue<boolean>;
  readonly random: () => number;
}

/** The org, and when the service told it, see `ServiceClient.orgAndTime`. */
type OrgReply = Awaited<ReturnType<ServiceClient["orgAndTime"]>>;

/** How long a connection has to last, in milliseconds, before its break counts as the first of its kind. */
export const steadyAfter = 10_000;
/** After how long a service whose events can't be followed just now is asked for them again, in milliseconds. */
const eventsAgainAfter = 300_000;
/** How long a service with events may take to tell the new day's numbers before it is asked, in milliseconds. */
const newDayPatience = 5_000;
/** How often a service without events is asked, in milliseconds, while somebody looks at the window. */
const askInterval = 30_000;
/** Who comes back to the window has it asked at once, unless its numbers are no older than this, in milliseconds. */
const askSoonest = 2_000;
/** Over how long the windows of many people spread their first question of the day, in milliseconds. */
const newDaySpread = 3_000;
/**
 * The new day's numbers are asked for so many milliseconds after the last ones, at the soonest: the reset that a service
 * is about to reach by its clock never comes where that clock stands still.
 */
const soonestNewDay = 10_000;
/** How often the time of day is looked at, in milliseconds; timers may stop while a machine sleeps. */
const checkInterval = 20_000;
/** A look that comes so much later than it was set for has been slept through, in milliseconds. */
const sleepThreshold = 30_000;
/** A clock that is so little off, in milliseconds, is not: a `Date` has whole seconds. */
const clockTolerance = 1_500;

/** Why a connection is broken off whose machine has slept: it may look open and be dead. */
const woken = new Error("the machine has slept");

/** One connection to a service: its org is asked for, then its events are followed until they break. */
export class ServiceConnection {
  readonly client: ServiceClient;
  /** Then the service is asked only while somebody looks at the window. Undefined until it is found out. */
  hasNoEvents: boolean | undefined;
  readonly #deps: ServiceConnectionDeps;
  /** Whether the service tells of runs, so that none told means none in work. */
  #hasRunEvents = false;
  #isAsking = false;
  /** How far the service's clock is ahead of this machine's, in milliseconds. */
  #ahead = 0;

  constructor(client: ServiceClient, deps: ServiceConnectionDeps) {
    this.client = client;
    this.#deps = deps;
  }

  /**
   * Asks for the org, which alone decides whether the service is within reach, then follows its events until they break. Where
   * there are none, or none that are of use, it is asked now and then (contract: "What a client may ask of a reply").
   * @returns `woken` when the machine has slept, so that a new connection is to be made at once.
   * @throws PipelineError as `ServiceClient.orgAndTime`.
   */
  async watch(signal: AbortSignal): Promise<"ended" | "woken"> {
    const { clock, log } = this.#deps;
    const watch = new AbortController();
    const ended = AbortSignal.any([signal, watch.signal]);
    const breakOff = (error: unknown): void => watch.abort(error);
    let openedAt: number | undefined;
    let time: Promise<void> | undefined;
    const onOpened = (): void => {
      openedAt = clock.monotonic();
      this.#hasRunEvents = true;
      // A service may tell of changes only, and there may have been some since it was asked.
      this.#ask(ended).catch(breakOff);
    };
    try {
      await this.#ask(ended);
      time = this.#watchTime(ended, breakOff);
      try {
        await watchEvents(this.client, onOpened, (event) => this.#onEvent(event), ended);
      } catch (error) {
        ended.throwIfAborted();
        if (!(error instanceof PipelineError)) throw error;
        this.hasNoEvents = error instanceof AbsentEndpoint;
        if (!this.hasNoEvents) log.warn(describeError(error));
      }
      this.#hasRunEvents = false;
      if (openedAt !== undefined) {
        // The service may have gone, or come back under another port: then it is looked for anew.
        await this.#ask(ended);
        if (clock.monotonic() - openedAt >= steadyAfter) return "ended";
      }
      this.#isAsking = true;
      await this.#keepAsking(
        this.hasNoEvents ? Number.POSITIVE_INFINITY : clock.monotonic() + eventsAgainAfter,
        ended,
      );
      return "ended";
    } catch (error) {
      if (signal.aborted || ended.reason !== woken) throw error;
      // What was known before is shown no more.
      this.#forget();
      return "woken";
    } finally {
      watch.abort();
      await time;
    }
  }

  /** Shows what the service said just now. */
  show({ org, servedAt }: OrgReply): void {
    const at = this.#deps.clock.now();
    const ahead = (servedAt ?? at) - at;
    this.#ahead = Math.abs(ahead) > clockTolerance ? ahead : 0;
    this.#show(org, { how: this.#hasRunEvents ? "followed" : "asked", at, servedAt: servedAt ?? at });
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const told = await this.client.orgAndTime(signal);
    // What comes after the end of this connection is another one's.
    if (!signal.aborted) this.show(told);
  }

  /**
   * Asks for the org every 30 s and at the beginning of the service's day, but only while somebody looks at the window,
   * and at once when they come back to it.
   * @param until on the monotonic clock, in milliseconds: then the events may be of use again.
   */
  async #keepAsking(until: number, signal: AbortSignal): Promise<void> {
    const { clock, isFocused, random, session } = this.#deps;
    const spread = random() * newDaySpread;
    let last = session.reading.value;
    let isBack = false;
    while (!signal.aborted && clock.monotonic() < until) {
      last = session.reading.value ?? last;
      const now = clock.now();
      // A time to come was noted before the clock was set back.
      const due: number =
        last === undefined || last.at > now
          ? now
          : Math.min(
              last.at + (isBack ? askSoonest : askInterval),
              Math.max(resetOf(last) + spread, last.at + soonestNewDay),
            );
      if (isFocused.value && due <= now) {
        isBack = false;
        await this.#ask(signal);
      } else {
        const pause: number = isFocused.value ? Math.min(due - now, checkInterval) : checkInterval;
        isBack = (await pauseFor(pause, clock, isFocused, signal)) || isBack;
      }
    }
  }

  /** Looks at the time of day until the signal aborts, which asks for nothing. */
  async #watchTime(signal: AbortSignal, breakOff: (why: unknown) => void): Promise<void> {
    const { clock, isFocused, session } = this.#deps;
    let before = clock.now();
    while (!signal.aborted) {
      const { value } = session.reading;
      const toReset = value === undefined ? checkInterval : Math.max(0, resetOf(value) - clock.now());
      await pauseFor(Math.min(checkInterval, toReset), clock, isFocused, signal);
      if (signal.aborted) return;
      const now = clock.now();
      const reading = session.reading.value;
      if (reading !== undefined && isOfAnotherDay(reading, now)) {
        session.reading.set(undefined);
        if (!this.#isAsking) this.#askForNewDay(signal).catch(breakOff);
      }
      if (now - before > checkInterval + sleepThreshold) {
        if (!this.#isAsking) breakOff(woken);
        // There is no connection to break, and it is asked at once.
        else if (isFocused.value) this.#forget();
      }
      before = now;
    }
  }

  /** The service tells of its new day by itself; one that doesn't is asked. */
  async #askForNewDay(signal: AbortSignal): Promise<void> {
    const { clock, random, session } = this.#deps;
    await clock.sleep(newDayPatience * (1 + random()), signal).catch(() => undefined);
    if (!signal.aborted && session.reading.value === undefined) await this.#ask(signal);
  }

  #onEvent(event: ServiceEvent): void {
    const { clock, session } = this.#deps;
    if (event.kind === "org") {
      const at = clock.now();
      this.#show(event.org, { how: "followed", at, servedAt: at + this.#ahead });
      return;
    }
    session.runChanged.emit(event.run);
    const { value } = session.state;
    if (value.kind !== "live") return;
    const others = (value.activeRuns ?? []).filter(({ runId }) => runId !== event.run.runId);
    session.state.set({ ...value, activeRuns: isActive(event.run) ? [...others, event.run] : others });
  }

  #show(org: Org, reading: OrgReading): void {
    const { session } = this.#deps;
    const { value } = session.state;
    const known = (value.kind === "live" ? value.activeRuns : undefined) ?? [];
    session.reading.set(reading);
    session.state.set({ kind: "live", org, activeRuns: this.#hasRunEvents ? known : undefined });
  }

  #forget(): void {
    const { session } = this.#deps;
    session.reading.set(undefined);
    session.state.set({ kind: "connecting" });
  }
}

/**
 * Resolves after so many milliseconds, when somebody comes back to the window, or when the signal aborts.
 * @returns whether somebody has come back.
 */
export async function pauseFor(
  milliseconds: number,
  clock: Clock,
  isFocused: ObservableValue<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  const back = new AbortController();
  const following = isFocused.subscribe((isFocusedNow) => {
    if (isFocusedNow) back.abort();
  });
  await clock.sleep(milliseconds, AbortSignal.any([signal, back.signal])).catch(() => undefined);
  following.dispose();
  return back.signal.aborted;
}
