import type { Disposable, LogOutputChannel } from "vscode";
import { Deadline } from "../client/deadline.ts";
import { watchEvents } from "../client/events/watchEvents.ts";
import { OutOfReach } from "../client/http/outOfReach.ts";
import { AbsentEndpoint } from "../client/http/replyError.ts";
import type { ServiceClient } from "../client/http/serviceClient.ts";
import { growingPauses } from "../client/pauses.ts";
import { describeError, PipelineError, withNext } from "../contract/errors.ts";
import type { ServiceEvent } from "../contract/event.ts";
import type { Org } from "../contract/org.ts";
import { isInWork, type Run } from "../contract/run.ts";
import { News } from "./news.ts";
import { Observed } from "./observed.ts";
import { type ClientOfDeps, clientOf } from "./session/clientOf.ts";
import { type LookUpDeps, lookUp, type Used } from "./session/lookUp.ts";
import { isAsked, isOld, OrgPoll } from "./session/orgPoll.ts";
import type { Reading } from "./session/reading.ts";
import { watchTime } from "./session/timeWatch.ts";
import { originOf, type Target } from "./target.ts";
import { Alarm } from "./windows/alarm.ts";
import { aloneNumbers, type Said, type SharedNumbers } from "./windows/sharedNumbers.ts";

/** What this window knows of the service. Only `live` holds numbers, and only ones that the service sent just now. */
export type SessionState =
  /** Nothing is asked for, nothing runs and nothing is shown. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting" }
  | {
      readonly kind: "no-key";
      readonly origin: string /** The service didn't accept the one there was. */;
      readonly refused: boolean;
    }
  | {
      readonly kind: "live";
      readonly org: Org /** Undefined where the service doesn't tell. */;
      readonly inWork: readonly Run[] | undefined;
    }
  | {
      readonly kind: "out-of-reach";
      readonly problem: string /** Whether it is tried again by itself. */;
      readonly retried: boolean;
    }
  /** This machine's own service can't serve this window, whatever is tried. */
  | { readonly kind: "not-supported"; readonly problem: string };

export interface SessionDeps extends ClientOfDeps, LookUpDeps {
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  /** Whether somebody looks at the window; always when left out. */
  readonly isFocused?: Observed<boolean>;
  /** What the windows that ask a service with one key know together; left out, this window is alone. */
  readonly shared?: (baseUrl: URL, apiKey: string) => SharedNumbers;
  /** A number from 0 up to 1. */
  readonly random?: () => number;
}

/** How long a connection has to last, in milliseconds, before its break counts as the first of its kind. */
const steadyAfter = 10_000;
/** The pauses between attempts to reach a service again, in milliseconds; the longer ones while nobody looks. */
const reconnectBounds = {
  focused: { shortest: 1_000, longest: 30_000 },
  unfocused: { shortest: 1_000, longest: 300_000 },
} as const;
/** After how long a service whose events can't be followed just now is asked for them again, in seconds. */
const eventsAgainAfter = 300;
/** How long a service with events may take to tell the new day's numbers before it is asked, in milliseconds. */
const newDayPatience = 5_000;
/** A clock that is so little off, in milliseconds, is not: a `Date` has whole seconds. */
const sameClock = 1_500;

/** The org, and when the service told it, see `ServiceClient.orgAndTime`. */
type Told = Awaited<ReturnType<ServiceClient["orgAndTime"]>>;

/** This window's connection to the service that its settings name. */
export class Session implements Disposable {
  readonly state = new Observed<SessionState>({ kind: "idle" });
  /** When and how the numbers of `live` were had; undefined while they are another day's or there are none. */
  readonly reading = new Observed<Reading | undefined>(undefined);
  /** Each run that the service tells of, whenever it changes. */
  readonly runTold = new News<Run>();
  readonly #deps: SessionDeps;
  readonly #isFocused: Observed<boolean>;
  readonly #random: () => number;
  readonly #following: Disposable;
  /** Ends the pause before the next attempt. */
  readonly #again: Alarm;
  /** Has the time looked at. */
  readonly #look: Alarm;
  #wanted = false;
  #watching: AbortController | undefined;
  /** Whether the service tells of runs, so that none told means none in work. */
  #runsAreTold = false;
  /** Whose numbers are shown. */
  #followed: ServiceClient | undefined;
  #poll: OrgPoll | undefined;
  /** What the service is followed with. */
  #used: Used | undefined;
  /** How far the clock of the followed service is ahead of this machine's, in milliseconds. */
  #ahead = 0;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#isFocused = deps.isFocused ?? new Observed(true);
    this.#random = deps.random ?? Math.random;
    this.#again = new Alarm(deps.clock);
    this.#look = new Alarm(deps.clock);
    this.#following = this.#isFocused.follow((isFocused) => {
      if (isFocused) this.#look.ring();
    });
  }

  /**
   * A client of the service, for a command; the window follows the service from then on.
   * @throws PipelineError naming what is missing: a key, a valid base URL, or a service that answers.
   */
  async connect(signal: AbortSignal): Promise<ServiceClient> {
    const client = await this.#findClient(signal);
    this.watch();
    return client;
  }

  /** The service whose numbers are shown; undefined while none is followed. A new connection is a new one. */
  get followed(): ServiceClient | undefined {
    return this.#followed;
  }

  /** Whether the service is followed with a key that somebody has entered. */
  get entered(): boolean {
    return this.#used?.key !== undefined;
  }

  /** Whether this machine's own service is followed with its own token, which no person can enter. */
  get isOwn(): boolean {
    return this.#used?.where.kind === "embedded" && this.#used.key === undefined;
  }

  /** Which service {@link connect} would ask now, see `originOf`; undefined where the settings name none. */
  get origin(): string | undefined {
    const where = this.#deps.target();
    return where.kind === "invalid" ? undefined : originOf(where);
  }

  /** A client of the service that a key was entered for, with that key, which is not kept yet. @throws as {@link connect}. */
  clientWith(where: Target, key: string, signal: AbortSignal): Promise<ServiceClient> {
    return clientOf(where, key, this.#deps, signal);
  }

  /** Follows the service from now on, until disposed; while it is followed already, this changes nothing. */
  watch(): void {
    this.#wanted = true;
    if (this.#watching !== undefined) return;
    const watching = new AbortController();
    this.#watching = watching;
    void this.#keepWatching(watching.signal).finally(() => {
      // It has ended for good, for want of a key or a valid setting: the next one to watch begins anew.
      if (this.#watching === watching) this.#watching = undefined;
    });
  }

  /** Begins anew with the settings and keys as they are now. A window that showed nothing stays so. */
  restart(): void {
    if (!this.#wanted) return;
    this.rest();
    this.watch();
  }

  /** Begins anew when the service or the key in use is another one by now. */
  async renew(): Promise<void> {
    const used = this.#used;
    const now = await lookUp(this.#deps);
    if (this.#used !== used) return;
    const isSame = this.#watching !== undefined && used?.address === now.address && used?.key === now.key;
    if (!isSame) this.restart();
  }

  /** Follows nothing and shows nothing, until the service is wanted again. */
  rest(): void {
    this.#wanted = false;
    this.#watching?.abort();
    this.#watching = undefined;
    this.#followed = undefined;
    this.#poll = undefined;
    this.reading.set(undefined);
    this.state.set({ kind: "idle" });
  }

  /** Asks for the org now, where no event tells of a change. */
  async refresh(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const { org, servedAt } = await client.orgAndTime(signal);
    // Settings and keys may have changed since the command began; another org's number must not show.
    const followed = this.#followed;
    if (followed?.baseUrl.href !== client.baseUrl.href || followed.apiKey !== client.apiKey) return;
    if (this.#poll !== undefined) await this.#poll.put(org, servedAt);
    else this.#tellOrg(org, this.#readingOf("followed", servedAt));
  }

  dispose(): void {
    this.rest();
    this.#following.dispose();
  }

  async #keepWatching(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let pauses = this.#pauses();
    this.state.set({ kind: "connecting" });
    // Somebody who comes back to the window need not wait for a pause that was made for nobody.
    let isBeginning = true;
    const following = this.#isFocused.follow((isFocused) => {
      pauses = this.#pauses();
      if (isFocused && !isBeginning) this.#again.ring();
    });
    isBeginning = false;
    try {
      while (!signal.aborted) {
        const began = clock.monotonic();
        let wanted = 0;
        try {
          const used = await lookUp(this.#deps);
          this.#used = used;
          const client = await clientOf(used.where, used.key, this.#deps, signal);
          const end = await this.#watchOnce(client, signal);
          if (end === "woken") {
            // What was known before the machine slept is shown no more.
            if (!signal.aborted) this.#forgetNumbers();
            continue;
          }
        } catch (error) {
          if (signal.aborted || (await this.#showFault(error, signal)) === "final") return;
          wanted = error instanceof OutOfReach ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
        }
        // A connection that breaks as soon as it is made is no success.
        if (clock.monotonic() - began > steadyAfter) pauses = this.#pauses();
        if (wanted > 0) await clock.sleep(wanted, signal).catch(() => undefined);
        await this.#again.sleep(pauses.next().value, signal);
      }
    } finally {
      following.dispose();
    }
  }

  #pauses(): Generator<number, never> {
    return growingPauses(
      this.#random,
      this.#isFocused.value ? reconnectBounds.focused : reconnectBounds.unfocused,
    );
  }

  /**
   * Asks for the org, which alone decides whether the service is within reach, then follows its events until they break. Where
   * there are none, or none that are of use, it is asked now and then (contract: "What a client may ask of a reply").
   */
  async #watchOnce(client: ServiceClient, signal: AbortSignal): Promise<"ended" | "woken"> {
    const { clock, log } = this.#deps;
    this.#followed = client;
    this.#poll = undefined;
    this.#ahead = 0;
    this.#runsAreTold = false;
    const watch = new AbortController();
    const ended = AbortSignal.any([signal, watch.signal]);
    let openedAt: number | undefined;
    let isAsking = false;
    let isWoken = false;
    const breakOff = (error: unknown): void => watch.abort(error);
    const time = watchTime(
      {
        clock,
        alarm: this.#look,
        reading: () => this.reading.value,
        onNewDay: () => {
          this.reading.set(undefined);
          if (!isAsking) this.#askForNewDay(client, ended).catch(breakOff);
        },
        onWake: () => {
          // Where there is no connection to break, the poll asks by itself.
          if (isAsking) {
            const { value } = this.reading;
            if (value === undefined || isOld(value, clock)) this.#forgetNumbers();
            return;
          }
          isWoken = true;
          watch.abort();
        },
      },
      ended,
    );
    const onOpened = (): void => {
      openedAt = clock.monotonic();
      this.#runsAreTold = true;
      // A service may tell of changes only, and there may have been some since it was asked.
      this.refresh(client, ended).catch(breakOff);
    };
    try {
      const shared = (this.#deps.shared ?? aloneNumbers)(client.baseUrl, client.apiKey);
      let told: Told | undefined;
      let isAbsent = true;
      // Another window that asks this service has found already that it has no events.
      if (!(await isAsked(shared, clock))) {
        told = await client.orgAndTime(ended);
        this.#tellOrg(told.org, this.#readingOf("asked", told.servedAt));
        try {
          await watchEvents(client, onOpened, (event) => this.#tell(event), ended);
        } catch (error) {
          if (isWoken) return "woken";
          ended.throwIfAborted();
          if (!(error instanceof PipelineError)) throw error;
          isAbsent = error instanceof AbsentEndpoint;
          if (!isAbsent) log.warn(describeError(error));
        }
      }
      if (openedAt !== undefined) {
        // The service may have gone, or come back under another port: then it is looked for anew.
        told = await client.orgAndTime(ended);
        this.#tellOrg(told.org, this.#readingOf("asked", told.servedAt));
        if (clock.monotonic() - openedAt >= steadyAfter) return "ended";
      }
      this.#runsAreTold = false;
      isAsking = true;
      if (isAbsent) await this.#askNowAndThen(client, shared, told, ended);
      else await this.#askForAWhile(client, told, ended);
      return isWoken ? "woken" : "ended";
    } catch (error) {
      if (isWoken) return "woken";
      throw error;
    } finally {
      watch.abort();
      await time;
    }
  }

  /** Until the events may be of use again, or the service gives no number. No other window need do without them. */
  async #askForAWhile(client: ServiceClient, told: Told | undefined, signal: AbortSignal): Promise<void> {
    using deadline = new Deadline(this.#deps.clock, signal);
    deadline.arm(eventsAgainAfter);
    const fault = new AbortController();
    const either = AbortSignal.any([deadline.signal, fault.signal]);
    await this.#askNowAndThen(client, aloneNumbers(), told, either, () => fault.abort());
  }

  /**
   * @param told what was asked for just now; the windows that share their numbers are told of it too.
   * @param onFault called when the service gives no number.
   */
  async #askNowAndThen(
    client: ServiceClient,
    shared: SharedNumbers,
    told: Told | undefined,
    signal: AbortSignal,
    onFault: () => void = () => {},
  ): Promise<void> {
    const { clock, log } = this.#deps;
    const onSaid = (said: Said): void => {
      // What comes after the end of this connection is another one's.
      if (signal.aborted) return;
      if (said.kind === "org") {
        this.#tellOrg(said.org, { how: "asked", at: said.at, servedAt: said.servedAt });
        return;
      }
      const problem = withNext(said.message, said.next);
      log.warn(problem);
      this.reading.set(undefined);
      this.state.set({ kind: "out-of-reach", problem, retried: true });
      onFault();
    };
    const alarm = new Alarm(clock);
    const poll = new OrgPoll(client, {
      clock,
      random: this.#random,
      isFocused: this.#isFocused,
      shared,
      alarm,
      onSaid,
    });
    this.#poll = poll;
    if (told !== undefined) await poll.put(told.org, told.servedAt);
    await poll.run(signal);
  }

  /** The service tells of its new day by itself; one that doesn't is asked. */
  async #askForNewDay(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const pause = newDayPatience * (1 + this.#random());
    await this.#deps.clock.sleep(pause, signal).catch(() => undefined);
    if (!signal.aborted && this.reading.value === undefined) await this.refresh(client, signal);
  }

  #tell(event: ServiceEvent): void {
    if (event.kind === "org") {
      const at = this.#deps.clock.now();
      this.#tellOrg(event.org, { how: "followed", at, servedAt: at + this.#ahead });
      return;
    }
    this.runTold.tell(event.run);
    const { value } = this.state;
    if (value.kind !== "live") return;
    const others = (value.inWork ?? []).filter(({ runId }) => runId !== event.run.runId);
    this.state.set({ ...value, inWork: isInWork(event.run) ? [...others, event.run] : others });
  }

  #readingOf(how: Reading["how"], servedAt: number | undefined): Reading {
    const at = this.#deps.clock.now();
    const ahead = (servedAt ?? at) - at;
    this.#ahead = Math.abs(ahead) > sameClock ? ahead : 0;
    return { how, at, servedAt: at + this.#ahead };
  }

  #tellOrg(org: Org, reading: Reading): void {
    const { value } = this.state;
    this.reading.set(reading);
    this.state.set({
      kind: "live",
      org,
      inWork: this.#runsAreTold ? ((value.kind === "live" ? value.inWork : undefined) ?? []) : undefined,
    });
    this.#look.ring();
  }

  #forgetNumbers(): void {
    this.reading.set(undefined);
    this.state.set({ kind: "connecting" });
  }

  async #showFault(error: unknown, signal: AbortSignal): Promise<"final" | "passing"> {
    // The keys themselves may be out of reach, where the system's keyring is locked.
    const used = await lookUp(this.#deps).catch(() => undefined);
    if (signal.aborted) return "final";
    this.#deps.log.warn(describeError(error));
    this.reading.set(undefined);
    const isRefused = error instanceof PipelineError && error.type === "unauthorized";
    if (isRefused && used !== undefined && used.where.kind !== "invalid") {
      const refused = used.key !== undefined;
      // This machine's own service has a new token at each start; only a key that someone has entered stays refused.
      if (refused || used.where.kind === "remote") {
        this.state.set({ kind: "no-key", origin: originOf(used.where), refused });
        return "final";
      }
    }
    if (error instanceof PipelineError && error.type === "not-supported") {
      this.state.set({ kind: "not-supported", problem: describeError(error) });
      return "final";
    }
    const retried = used?.where.kind !== "invalid";
    this.state.set({ kind: "out-of-reach", problem: describeError(error), retried });
    return retried ? "passing" : "final";
  }

  async #findClient(signal: AbortSignal): Promise<ServiceClient> {
    const used = await lookUp(this.#deps);
    return clientOf(used.where, used.key, this.#deps, signal);
  }
}
