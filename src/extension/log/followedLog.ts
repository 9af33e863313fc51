import { t } from "@vscode/l10n";
import type { Disposable } from "vscode";
import { followLog } from "../../client/follow/followLog.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { growingPauses } from "../../client/service/retry.ts";
import type { Clock } from "../../contract/clock.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { LogEntry } from "../../contract/log.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { LogSnapshot, LogText } from "./logText.ts";
import { toOneLine } from "./ownLines.ts";
import { ownLine, textStyles } from "./textLine.ts";
import { ThrottledChanges } from "./throttledChanges.ts";

export interface FollowedLogDeps {
  /** A client of the service as it is now. */
  readonly connect: (signal: AbortSignal) => Promise<ServiceClient>;
  /** Whether this machine's own service is asked with its own token, which is a new one at each start. */
  readonly isOwn: () => boolean;
  /** Which service the window uses now, as its settings and choices say; undefined where they name none. */
  readonly origin: () => string | undefined;
  readonly clock: Clock;
  readonly timeText: (instant: string) => string;
  /** Told when the document has something new to show; not faster than an editor can take it in. */
  readonly onChange: () => void;
}

/** How often the run is asked for when its log tells of a step that isn't known. */
const askEvery = 1_000;
/** A stopped run's log may take so long to come before what is there is shown. */
const longestBlank = 1_500;
const retryBounds = { shortest: 2_000, longest: 30_000 } as const;

/** One run's log, read from the service until the run stops or the document is closed, over breaks of all kinds. */
export class FollowedLog implements Disposable {
  readonly runId: string;
  readonly #deps: FollowedLogDeps;
  readonly #ended = new AbortController();
  readonly #changes: ThrottledChanges;
  readonly #apiKeys = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<Run>();
  #text: LogText | undefined;
  /** What is shown while the service has told nothing of the run. */
  #fault: string | undefined;
  #lastSequence = 0;
  #isComplete = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  /** The service whose run this is: the one that the window used when it was asked for it first. */
  #origin: string | undefined;
  #read: LogSnapshot | undefined;
  /** Ends a pause before the next attempt. */
  #retrySignal = new AbortController();

  constructor(runId: string, deps: FollowedLogDeps) {
    this.runId = runId;
    this.#deps = deps;
    this.#changes = new ThrottledChanges(deps.clock, deps.onChange, this.#ended.signal);
    // Only a command waits for it; a document that is restored shows what went wrong.
    this.#opened.promise.catch(() => {});
    void this.#keepReading();
  }

  /** Resolves when there is something to show: what the service has told, or why it can't be asked. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves when the service has begun to tell the log; rejects with what stood in the way the first time. */
  get opened(): Promise<Run> {
    return this.#opened.promise;
  }

  /** Whether all of the log is there: the run has stopped. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The run as it was told last; undefined before. */
  get run(): Run | undefined {
    return this.#text?.run;
  }

  /** How often there was something new: what a file's time is to a file. */
  get revision(): number {
    return this.#changes.revision;
  }

  /** What the editor has read last; it may not have shown it yet. */
  get read(): LogSnapshot | undefined {
    return this.#read;
  }

  /** The document as it is now, to be shown. */
  snapshot(): LogSnapshot {
    const snapshot =
      this.#text?.snapshot() ??
      new LogSnapshot([ownLine({ text: this.#fault ?? "", style: textStyles.ended })], []);
    this.#read = snapshot;
    this.#changes.wasRead(snapshot.bytes.byteLength);
    return snapshot;
  }

  /** News of the run, from the service's events. */
  update(run: Run): void {
    // That it has stopped is shown when all of its log is there.
    if (this.#text === undefined || !isActive(run)) return;
    this.#text.setRun(run, undefined);
    this.#changes.notify();
  }

  /** Tries again now, when it is waiting to: the service is there, or there is another key. */
  retryNow(): void {
    this.#retrySignal.abort();
    this.#retrySignal = new AbortController();
  }

  /** Ends the reading; the connection to the service is closed. */
  dispose(): void {
    const reason = new Error("the log was closed");
    this.#ended.abort(reason);
    this.#opened.reject(reason);
    this.#ready.resolve();
  }

  async #keepReading(): Promise<void> {
    const { signal } = this.#ended;
    let pauses = growingPauses(Math.random, retryBounds);
    while (!signal.aborted) {
      const before = this.#lastSequence;
      try {
        await this.#readLog(signal);
        this.#isComplete = true;
        this.#changes.notify();
        return;
      } catch (error) {
        if (signal.aborted) return;
        const isFinal = this.#showFault(error);
        this.#opened.reject(error);
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
    // A stopped run's log is shown at once as a whole, unless there is very much of it.
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
          this.#opened.resolve(run);
          // What is there of a stopped run comes at once; nobody has to see it come.
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
    // The end comes as one change and the beginning as the next: for the editor, one change of both is a change of all.
    await this.#changes.shown();
    // The service may be another one by now, with another key than at the beginning.
    text.setRun(await (await this.#connect(signal)).run(this.runId, signal), undefined);
    this.#ready.resolve();
  }

  async #connect(signal: AbortSignal): Promise<ServiceClient> {
    const { connect, origin } = this.#deps;
    this.#origin ??= origin();
    if (origin() !== this.#origin) throw usesAnother();
    const client = await connect(signal);
    // The settings may have been changed meanwhile.
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

  /** Events tell of the steps as well; a service may have none. */
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
      // The log itself goes on, and says what is wrong with the service if anything is.
    } finally {
      this.#isAsking = false;
    }
  }

  /** @returns whether there is nothing to be had by trying again. */
  #showFault(error: unknown): boolean {
    const isFinal = error instanceof PipelineError && finalTypes.has(error.type);
    // What a service advises who asks with a wrong key is to enter another, which helps only who has entered one.
    const isOldToken = isRefused(error) && !this.#needsKey(error);
    const why = toOneLine(isOldToken ? error.message : describeError(error));
    const text = isFinal
      ? t("The log can't be shown: {0}", why)
      : this.#needsPerson(error)
        ? t("The log can't be read just now: {0}", why)
        : t("The log can't be read just now: {0} It is tried again by itself.", why);
    this.#fault = text;
    this.#text?.setNotice(text);
    this.#changes.notify();
    return isFinal;
  }

  /** Whether trying again helps only once someone has set a key or the service. */
  #needsPerson(error: unknown): boolean {
    const isElsewhere = this.#origin !== undefined && this.#deps.origin() !== this.#origin;
    return isElsewhere || this.#needsKey(error);
  }

  /** Whether only another key helps; whoever enters one is heard. */
  #needsKey(error: unknown): boolean {
    return isRefused(error) && !this.#deps.isOwn();
  }

  /** @param milliseconds until there is a reason to try again where it is left out. */
  async #pause(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#retrySignal.signal]);
    const over = milliseconds === undefined ? aborted(either) : this.#deps.clock.sleep(milliseconds, either);
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

/** Another service knows nothing of this run, or another one by its id. */
function usesAnother(): PipelineError {
  return new PipelineError("usage", t("This window uses another service by now."), {
    next: t("The log goes on once it uses that of this run again."),
  });
}

function isRefused(error: unknown): error is PipelineError {
  return error instanceof PipelineError && error.type === "unauthorized";
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function ownId(client: ServiceClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.org(signal)).actor;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
