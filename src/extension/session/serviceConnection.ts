import type { LogOutputChannel } from "vscode";
import { type ServiceEvent, watchEvents } from "../../client/follow/events.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { nextReset, utcDay } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Emitter, ObservableValue } from "../window/observable.ts";

export interface ServiceConnectionDeps {
  readonly clock: Clock;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  /** The session's values, which the connection sets. */
  readonly session: {
    readonly state: ObservableValue<SessionState>;
    readonly reading: ObservableValue<OrgReading | undefined>;
    readonly runChanged: Emitter<Run>;
  };
  readonly isFocused: ObservableValue<boolean>;
  readonly random: () => number;
}

type OrgReply = Awaited<ReturnType<ServiceClient["orgAndTime"]>>;

/** In milliseconds: a connection that lasts less than this counts as failed. */
export const steadyAfter = 10_000;
/** In milliseconds: when a service's failing events are tried again. */
const eventsAgainAfter = 300_000;
/** In milliseconds: how long a service with events may take to report the new day before it is asked. */
const newDayPatience = 5_000;
/** In milliseconds: how often a service without events is asked while the window has the focus. */
const askInterval = 30_000;
/** In milliseconds: numbers this fresh aren't read again when the window regains the focus. */
const askSoonest = 2_000;
/** In milliseconds: the spread of many windows' first request of the day. */
const newDaySpread = 3_000;
/**
 * In milliseconds: the shortest time between two requests for the new day's numbers, since a service's clock may stop just before
 * the reset.
 */
const soonestNewDay = 10_000;
/** In milliseconds: how often the time of day is checked; timers may stop while a machine sleeps. */
const checkInterval = 20_000;
/** In milliseconds: a check this late means that the machine slept. */
const sleepThreshold = 30_000;
/** In milliseconds: a smaller difference counts as none, since `Date` has whole seconds. */
const clockTolerance = 1_500;

/** The abort reason after a sleep, when a connection may look open although it is dead. */
const woken = new Error("the machine has slept");

/** One connection to a service: reads the org, then follows the events until they break. */
export class ServiceConnection {
  readonly client: ServiceClient;
  /** Without events, the service is asked only while the window has the focus. Undefined until known. */
  hasNoEvents: boolean | undefined;
  readonly #deps: ServiceConnectionDeps;
  /**
   * `found`: the service was just found; `followed`: its events report the numbers and active runs; `asked`: the events have
   * failed, so the numbers are polled.
   */
  #phase: "found" | "followed" | "asked" | "over" = "found";
  /** How far the service's clock is ahead of this machine's, in milliseconds. */
  #ahead = 0;

  constructor(client: ServiceClient, deps: ServiceConnectionDeps) {
    this.client = client;
    this.#deps = deps;
  }

  /** Whether the service is still at the client's address: it was found there, and its events haven't broken since. */
  get isOpen(): boolean {
    return this.#phase === "found" || this.#phase === "followed";
  }

  /**
   * Reads the org, which alone decides whether the service is within reach, then follows its events. Without usable events, the
   * service is polled (contract: "What a client may ask of a reply").
   * @returns `woken` after the machine slept; the caller then reconnects at once.
   * @throws PipelineError as `ServiceClient.orgAndTime`.
   */
  async watch(signal: AbortSignal): Promise<"ended" | "woken"> {
    const { clock, log } = this.#deps;
    const watch = new AbortController();
    const ended = anySignal([signal, watch.signal]);
    const breakOff = (error: unknown): void => watch.abort(error);
    let openedAt: number | undefined;
    let time: Promise<void> | undefined;
    const onOpened = (): void => {
      openedAt = clock.monotonic();
      this.#phase = "followed";
      // Events report only changes, and some may have come before they were opened.
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
      } finally {
        this.#phase = "asked";
      }
      if (openedAt !== undefined) {
        // Fails if the service is gone or has moved to another port, so that it is found again.
        await this.#ask(ended);
        if (clock.monotonic() - openedAt >= steadyAfter) return "ended";
      }
      await this.#keepAsking(
        this.hasNoEvents ? Number.POSITIVE_INFINITY : clock.monotonic() + eventsAgainAfter,
        ended,
      );
      return "ended";
    } catch (error) {
      if (signal.aborted || ended.reason !== woken) throw error;
      // The state from before the sleep isn't shown.
      this.#forget();
      return "woken";
    } finally {
      this.#phase = "over";
      watch.abort();
      await time;
    }
  }

  show({ org, servedAt }: OrgReply): void {
    const at = this.#deps.clock.now();
    const ahead = (servedAt ?? at) - at;
    this.#ahead = Math.abs(ahead) > clockTolerance ? ahead : 0;
    this.#show(org, { how: this.#phase === "followed" ? "followed" : "asked", at, servedAt: servedAt ?? at });
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const told = await this.client.orgAndTime(signal);
    // Ignored after the connection's end.
    if (!signal.aborted) this.show(told);
  }

  /**
   * Reads the org every 30 s and at the start of the service's day while the window has the focus, and at once when it regains
   * it.
   * @param until when the events are tried again, in milliseconds on the monotonic clock.
   */
  async #keepAsking(until: number, signal: AbortSignal): Promise<void> {
    const { clock, isFocused, random, session } = this.#deps;
    const spread = random() * newDaySpread;
    let last = session.reading.value;
    let isBack = false;
    while (!signal.aborted && clock.monotonic() < until) {
      last = session.reading.value ?? last;
      const now = clock.now();
      // A time in the future was recorded before the clock was set back.
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

  /** Watches the time of day until the signal aborts; sends no request itself. */
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
        if (this.#phase !== "asked") this.#askForNewDay(signal).catch(breakOff);
      }
      if (now - before > checkInterval + sleepThreshold) {
        if (this.#phase !== "asked") breakOff(woken);
        // A polled service has no connection to break.
        else if (isFocused.value) this.#forget();
      }
      before = now;
    }
  }

  /** Asks for the new day's numbers, unless the service reports them in time. */
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
    session.state.set({ kind: "live", org, activeRuns: this.#phase === "followed" ? known : undefined });
  }

  #forget(): void {
    const { session } = this.#deps;
    session.reading.set(undefined);
    session.state.set({ kind: "connecting" });
  }
}

/**
 * Resolves after the pause, when the window gains the focus, or when the signal aborts.
 * @returns whether the window gained the focus.
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
  await clock.sleep(milliseconds, anySignal([signal, back.signal])).catch(() => undefined);
  following.dispose();
  return back.signal.aborted;
}

/** What this window knows about the service. Only `live` has numbers, and only the service's latest. */
export type SessionState =
  /** No request was made, and nothing is shown. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting" }
  | {
      readonly kind: "no-key";
      readonly origin: string;
      readonly refused: boolean;
    }
  | {
      readonly kind: "live";
      readonly org: Org;
      /** Undefined if the service doesn't report runs. */
      readonly activeRuns: readonly Run[] | undefined;
    }
  | {
      readonly kind: "out-of-reach";
      readonly problem: string;
      readonly retried: boolean;
    }
  /** A person has stopped this machine's own service: it isn't started until a person asks for it. */
  | { readonly kind: "stopped" }
  /** This machine's own service can't serve this window. */
  | { readonly kind: "not-supported"; readonly problem: string };

/** When and how the org's numbers were read. Times are in milliseconds since 1970. */
export interface OrgReading {
  /** `followed`: events report each change; `asked`: the numbers are as old as `at`. */
  readonly how: "followed" | "asked";
  readonly at: number;
  /** On the service's clock, which alone decides what day it is (contract: "Refusals and errors over HTTP"). */
  readonly servedAt: number;
}

/** The service's clock when this machine's clock shows `now`. */
export function serviceNow({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">, now: number): number {
  return now + servedAt - at;
}

/** Whether the service's day has changed since the numbers were read. */
function isOfAnotherDay(reading: Pick<OrgReading, "at" | "servedAt">, now: number): boolean {
  return utcDay(serviceNow(reading, now)) !== utcDay(reading.servedAt);
}

/** The service's next 00:00 UTC after the reading, on this machine's clock. */
function resetOf({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">): number {
  return nextReset(servedAt) - servedAt + at;
}

/** In milliseconds: older numbers are shown with their age. */
const freshFor = 300_000;

export function isOld({ how, at }: OrgReading, now: number): boolean {
  return how === "asked" && Math.abs(now - at) > freshFor;
}

export function runsPerDayOf(state: SessionState): number | undefined {
  return state.kind === "live" ? state.org.limits.runsPerDay : undefined;
}
