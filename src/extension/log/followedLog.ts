import { once } from "node:events";
import { t } from "@vscode/l10n";
import type { Disposable } from "vscode";
import { followLog } from "../../client/follow/followLog.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { fromFailedStep } from "../../contract/fromStep.ts";
import type { LogEntry } from "../../contract/log.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { Clock } from "../../machine/clock.ts";
import { toOneLine } from "../window/runText.ts";
import { LogSnapshot, LogText } from "./logText.ts";
import { ownLine, textStyles } from "./textLine.ts";

export interface FollowedLogDeps {
  /** Returns a client of the service at its current address. */
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  /** The origin of the service in use; undefined without a valid one. */
  readonly origin: () => string | undefined;
  readonly clock: Clock;
  readonly timeText: (instant: string) => string;
  /** See `stepToResumeAt`. */
  readonly resumeAt: (run: Run) => Promise<ReturnType<typeof fromFailedStep>>;
  /** Called when the document changes, but no faster than an editor reads it. */
  readonly onChange: () => void;
}

/** In milliseconds: how often the run is read while its log names an unknown step. */
const askEvery = 1_000;
/** In milliseconds: how long a stopped run's log may load before its beginning is shown. */
const longestBlank = 1_500;
const retryBounds = { shortest: 2_000, longest: 30_000 } as const;

/** One run's log, read from the service until the run stops or the document closes, even across broken connections. */
export class FollowedLog implements Disposable {
  readonly runId: string;
  readonly #deps: FollowedLogDeps;
  readonly #ended = new AbortController();
  readonly #changes: ReturnType<typeof throttledChanges>;
  readonly #apiKeys = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  #text: LogText | undefined;
  /** Shown until something of the run has been read. */
  #fault: string | undefined;
  #lastSequence = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  /** The origin of the run's service: the one in use when the run was first read. */
  #origin: string | undefined;
  #read: LogSnapshot | undefined;
  /** Ends a pause before the next attempt. */
  #retrySignal = new AbortController();

  constructor(runId: string, deps: FollowedLogDeps) {
    this.runId = runId;
    this.#deps = deps;
    this.#changes = throttledChanges(deps.clock, deps.onChange, this.#ended.signal);
    void this.#keepReading();
  }

  /** Resolves when there is something to show: the log, or why it can't be read. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** The run as last reported; undefined before that. */
  get run(): Run | undefined {
    return this.#text?.run;
  }

  /** Counts the changes, for the document's modification time. */
  get revision(): number {
    return this.#changes.revision();
  }

  /** The snapshot that the editor last read, which it may not show yet. */
  get read(): LogSnapshot | undefined {
    return this.#read;
  }

  snapshot(): LogSnapshot {
    const snapshot =
      this.#text?.snapshot() ??
      new LogSnapshot([ownLine({ text: this.#fault ?? "", style: textStyles.ended })], []);
    this.#read = snapshot;
    this.#changes.wasRead(snapshot.bytes.byteLength);
    return snapshot;
  }

  /** Takes a run from the service's events. */
  update(run: Run): void {
    // A stop is shown once the log is complete.
    if (this.#text === undefined || !isActive(run)) return;
    this.#text.setRun(run, undefined);
    this.#changes.notify();
  }

  /** Ends the pause before the next attempt, since the service is back or the key has changed. */
  retryNow(): void {
    this.#retrySignal.abort();
    this.#retrySignal = new AbortController();
  }

  dispose(): void {
    this.#ended.abort(new Error("the log was closed"));
    this.#ready.resolve();
  }

  async #keepReading(): Promise<void> {
    const { signal } = this.#ended;
    let pauses = growingPauses(Math.random, retryBounds);
    while (!signal.aborted) {
      const before = this.#lastSequence;
      try {
        await this.#readLog(signal);
        this.#changes.notify();
        return;
      } catch (error) {
        if (signal.aborted) return;
        const isFinal = this.#showFault(error);
        this.#ready.resolve();
        if (isFinal) return;
        if (this.#lastSequence > before) pauses = growingPauses(Math.random, retryBounds);
        await this.#pause(this.#needsPerson(error) ? undefined : pauses.next().value, signal);
      }
    }
  }

  async #readLog(signal: AbortSignal): Promise<void> {
    const client = await this.#connect(signal);
    const [run, me] = await Promise.all([client.run(this.runId, signal), ownId(client, signal)]);
    const { timeText } = this.#deps;
    this.#text ??= new LogText(run, { apiKeys: this.#apiKeys, timeText });
    const text = this.#text;
    text.setRun(run, me);
    const isBusy = isActive(run);
    // A stopped run's log is shown as a whole, unless it is very long.
    if (!isBusy) void this.#readyAfter(longestBlank, signal);
    await followLog(
      client,
      this.runId,
      {
        after: this.#lastSequence,
        follow: true,
        reconnect: (until) => this.#connect(until),
        onOpened: () => {
          text.setNotice(undefined);
          // Not for a stopped run, whose log arrives at once.
          if (isBusy) this.#ready.resolve();
          this.#changes.notify();
        },
        onBroken: (error) => this.#showFault(error),
        onGap: (first, last) => text.addGap(first, last),
      },
      (entry) => this.#add(text, entry),
      signal,
    );
    text.end();
    // Changes the end and the beginning separately, since the editor would treat a change of both as a change of everything.
    await this.#changes.shown();
    // The service may have restarted.
    const ended = await (await this.#connect(signal)).run(this.runId, signal);
    text.setRun(ended, undefined);
    text.setResumeAt((await this.#deps.resumeAt(ended))?.index);
    this.#ready.resolve();
  }

  async #connect(signal: AbortSignal): Promise<ServiceClient> {
    const { connect, origin } = this.#deps;
    this.#origin ??= origin();
    if (origin() !== this.#origin) throw usesAnother();
    const client = await connect(signal);
    // The settings may have changed in the meantime.
    if (origin() !== this.#origin) throw usesAnother();
    this.#apiKeys.add(client.apiKey);
    return client;
  }

  #add(text: LogText, entry: LogEntry): void {
    this.#lastSequence = entry.sequence;
    text.add(entry);
    if (text.run.steps?.[entry.stepIndex]?.startedAt === undefined) void this.#askForSteps(text);
    this.#changes.notify();
  }

  /** Reads the steps, in case no events report them. */
  async #askForSteps(text: LogText): Promise<void> {
    const { clock } = this.#deps;
    if (this.#isAsking || clock.monotonic() - this.#askedAt < askEvery) return;
    this.#isAsking = true;
    this.#askedAt = clock.monotonic();
    const { signal } = this.#ended;
    try {
      text.setRun(await (await this.#connect(signal)).run(this.runId, signal), undefined);
      this.#changes.notify();
    } catch {
      // Ignored: following the log goes on, and shows the service's own errors.
    } finally {
      this.#isAsking = false;
    }
  }

  /** @returns whether trying again is useless. */
  #showFault(error: unknown): boolean {
    const isFinal = error instanceof PipelineError && finalTypes.has(error.type);
    const why = toOneLine(describeError(error));
    const text = isFinal
      ? t("The log can't be shown: {0}", why)
      : this.#needsPerson(error)
        ? t("The log can't be read right now: {0}", why)
        : t("The log can't be read right now: {0} Retrying automatically.", why);
    this.#fault = text;
    this.#text?.setNotice(text);
    this.#changes.notify();
    return isFinal;
  }

  /** Whether trying again helps only after the person changes the key or the service. */
  #needsPerson(error: unknown): boolean {
    const isElsewhere = this.#origin !== undefined && this.#deps.origin() !== this.#origin;
    return isElsewhere || (error instanceof PipelineError && error.type === "unauthorized");
  }

  /** @param milliseconds undefined to pause until `retryNow`. */
  async #pause(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
    const either = anySignal([signal, this.#retrySignal.signal]);
    const over =
      milliseconds === undefined ? once(either, "abort") : this.#deps.clock.sleep(milliseconds, either);
    await over.catch(() => undefined);
  }

  async #readyAfter(milliseconds: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(milliseconds, signal).catch(() => undefined);
    this.#ready.resolve();
  }
}

const finalTypes: ReadonlySet<string> = new Set([
  "not-found",
  "not-supported",
  "forbidden",
  "invalid-request",
  "breaks-contract",
]);

/** Thrown because another service may have a different run with this id. */
function usesAnother(): PipelineError {
  return new PipelineError("usage", t("This window now uses another service."), {
    next: t("The log continues once the window uses the run's service again."),
  });
}

async function ownId(client: ServiceClient, signal: AbortSignal): Promise<string | undefined> {
  const org = await client.org(signal).catch(() => undefined);
  signal.throwIfAborted();
  return org?.actor;
}

/** In milliseconds: the shortest time between two changes. */
const shortestInterval = 100;
/** The editor reads the whole document at each change, perhaps over a network. */
const bytesPerSecond = 2_000_000;
/** In milliseconds: how long to wait for an editor to read a change; it may not show the document. */
const longestRead = 1_500;

/**
 * Reports a document's changes, at most once per interval, and no faster than the editor reads them.
 * @param signal ends the reports.
 */
function throttledChanges(clock: Clock, onChange: () => void, signal: AbortSignal) {
  let revision = 0;
  let isDue = false;
  let readBytes: number | undefined;
  let whenRead = Promise.withResolvers<void>();
  const notify = (): void => {
    if (isDue || signal.aborted) return;
    isDue = true;
    const pause = Math.max(shortestInterval, ((readBytes ?? 0) / bytesPerSecond) * 1000);
    void clock
      .sleep(pause, signal)
      .then(() => {
        isDue = false;
        revision += 1;
        onChange();
      })
      .catch(() => undefined);
  };
  return {
    notify,
    /** The number of reported changes. */
    revision: (): number => revision,
    wasRead: (bytes: number): void => {
      readBytes = bytes;
      whenRead.resolve();
    },
    /** Reports the changes so far, and waits until the editor has read them. */
    shown: async (): Promise<void> => {
      if (readBytes === undefined) return;
      whenRead = Promise.withResolvers<void>();
      notify();
      const waited = new AbortController();
      const patience = clock.sleep(longestRead, anySignal([signal, waited.signal]));
      await Promise.race([whenRead.promise, patience.catch(() => undefined)]);
      waited.abort();
    },
  };
}
