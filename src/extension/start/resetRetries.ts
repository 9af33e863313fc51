import { createHash } from "node:crypto";
import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, window as vscodeWindow } from "vscode";
import { mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { growingPauses } from "../../client/service/retry.ts";
import type { Clock } from "../../contract/clock.ts";
import { describeError } from "../../contract/errors.ts";
import { nextReset } from "../../contract/time.ts";
import type { Claims } from "../announce/claims.ts";
import { originOf, type Target } from "../keys/target.ts";
import type { Session } from "../session/session.ts";
import { ObservableValue } from "../window/observable.ts";
import type { DeferredStart, PendingRetry, RetryStore } from "./retryFiles.ts";

export interface ResetRetriesDeps {
  readonly store: RetryStore;
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
  readonly claims: Claims;
  readonly clock: Clock;
  /** A number from 0 up to 1, for the jitter. */
  readonly random: () => number;
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage" | "setStatusBarMessage">;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  readonly start: (wish: DeferredStart) => Promise<void>;
}

/** Thousands may wait for the same moment: each comes so many milliseconds after it, at least and at most. */
const jitter = { least: 1000, most: 10_000 } as const;
/** From so many milliseconds on after its time a start is not made without a question. */
const tooLate = 5 * 60_000;
/** A timer stands still while the machine sleeps: so often, in milliseconds, the clock is looked at. */
const checkInterval = 30_000;
/** How long the status bar says that a start is made now, in milliseconds. */
const statusBarTime = 8000;

/**
 * Starts that were refused because the day's runs were used, and that a person wants to be made at 00:00 UTC. They are kept
 * for all windows of the workspace, over a reload, a crash and a restart of the editor; of several windows one makes each;
 * the service's clock decides. One whose time has passed unseen is asked about.
 */
export class ResetRetries implements Disposable {
  /** What is to come, for the status bar; the first one made first. */
  readonly pending = new ObservableValue<readonly PendingRetry[]>([]);
  /** Resolves when what was kept before is among what is to come. */
  readonly loaded: Promise<void>;
  readonly #deps: ResetRetriesDeps;
  readonly #scheduled = new Map<string, AbortController>();
  readonly #watch: { dispose(): void };
  /** What is kept is read and changed one after another, so that no reading undoes what was put off meanwhile. */
  #working: Promise<unknown> = Promise.resolve();
  #isDisposed = false;

  constructor(deps: ResetRetriesDeps) {
    this.#deps = deps;
    const load = () => this.#inSequence(() => this.#load());
    this.#watch = deps.store.onDidChange(() => void load());
    this.loaded = load();
  }

  /**
   * Keeps a start for the next 00:00 UTC. The same pipeline is kept once.
   * @throws PipelineError as `ServiceClient.orgAndTime` and `Session.connect`, and when it can't be kept.
   */
  async add(wish: DeferredStart, signal: AbortSignal): Promise<PendingRetry> {
    const { claims, clock, store, random } = this.#deps;
    const { pipeline, project, timeLimitSeconds } = wish;
    await this.loaded;
    const same = this.pending.value.find((one) => one.pipeline === pipeline && one.project === project);
    if (same !== undefined && !(await claims.isClaimed(nameOf(same.id)))) return same;
    // Another window has taken it back, or made it.
    if (same !== undefined) await this.#drop(same.id);
    const client = await this.#deps.session.connect(signal);
    const { org, servedAt } = await client.orgAndTime(signal);
    const now = clock.now();
    const resetAt = nextReset(servedAt ?? now);
    const late = jitter.least + random() * (jitter.most - jitter.least);
    const origin = this.#origin() ?? "";
    const retry: PendingRetry = {
      id: await freeId([origin, org.orgId, project, pipeline, resetAt], claims),
      pipeline,
      ...(project === undefined ? {} : { project }),
      ...(timeLimitSeconds === undefined ? {} : { timeLimitSeconds }),
      resetAt,
      dueAt: Math.round(now + (resetAt - (servedAt ?? now)) + late),
      origin,
      orgId: org.orgId,
    };
    return this.#inSequence(async () => {
      // It may have been asked for twice at once.
      const there = this.pending.value.find(({ id }) => id === retry.id);
      if (there !== undefined) return there;
      await store.put(retry);
      this.#schedule(retry);
      return retry;
    });
  }

  /** Forgets one, in all windows. */
  async cancel({ id }: Pick<PendingRetry, "id">): Promise<void> {
    await this.#deps.claims.claim(nameOf(id));
    await this.#drop(id);
  }

  dispose(): void {
    this.#isDisposed = true;
    this.#watch.dispose();
    for (const awaiting of this.#scheduled.values()) awaiting.abort(new Error("the window closes"));
    this.#scheduled.clear();
  }

  #inSequence<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#working.then(act);
    this.#working = done.catch(() => undefined);
    return done;
  }

  /** Takes up what another window, or this one before it was closed, has put off, and lets go of what is kept no more. */
  async #load(): Promise<void> {
    const { retries, isWhole } = await this.#deps.store.list();
    const ids = new Set(retries.map(({ id }) => id));
    // One that merely can't be read was taken back by nobody.
    const gone = isWhole ? this.pending.value.filter(({ id }) => !ids.has(id)) : [];
    for (const { id } of gone) this.#forget(id);
    for (const retry of retries) this.#schedule(retry);
  }

  #schedule(retry: PendingRetry): void {
    if (this.#isDisposed || this.#scheduled.has(retry.id)) return;
    const awaiting = new AbortController();
    this.#scheduled.set(retry.id, awaiting);
    this.pending.set([...this.pending.value, retry]);
    const { log } = this.#deps;
    this.#waitAndStart(retry, awaiting.signal).catch((error: unknown) => {
      if (!awaiting.signal.aborted) log.warn(`${retry.pipeline}, at 00:00 UTC: ${describeError(error)}`);
    });
  }

  async #waitAndStart(retry: PendingRetry, signal: AbortSignal): Promise<void> {
    const { clock, claims, log, start, window } = this.#deps;
    let { dueAt } = retry;
    for (;;) {
      for (let left = dueAt - clock.now(); left > 0; left = dueAt - clock.now()) {
        await clock.sleep(Math.min(left, checkInterval), signal);
        // Another window has taken it back.
        if (await claims.isClaimed(nameOf(retry.id))) return this.#drop(retry.id);
      }
      if (clock.now() - dueAt > tooLate) return this.#ask(retry, t("while this window was closed or asleep"));
      const found = await this.#untilReset(retry, dueAt, signal);
      if (typeof found === "string") return this.#ask(retry, found);
      if (found <= 0) break;
      dueAt = clock.now() + found;
    }
    const claim = await claims.tryClaim(nameOf(retry.id));
    if (claim === "unknown") return this.#ask(retry, t("but whether another window runs it can't be noted"));
    await this.#drop(retry.id);
    if (claim === "taken") return;
    log.info(`${retry.pipeline}: started at 00:00 UTC, as it was asked for`);
    window.setStatusBarMessage(
      `$(watch) ${t("Starting a run that was deferred to 00:00 UTC")}`,
      statusBarTime,
    );
    await start(retry);
  }

  /**
   * How many milliseconds it still is to the reset, on the service's own clock.
   * @returns a text that says why it can't be made.
   */
  async #untilReset(retry: PendingRetry, dueAt: number, signal: AbortSignal): Promise<number | string> {
    const { clock, random, session } = this.#deps;
    const pauses = growingPauses(random, { shortest: 2000, longest: 30_000 });
    for (;;) {
      if (this.#origin() !== retry.origin) return t("but this window uses another service by now");
      try {
        const client = await session.connect(signal);
        const { org, servedAt } = await client.orgAndTime(signal);
        if (org.orgId !== retry.orgId) return t("but this window uses a key of another org by now");
        return servedAt === undefined ? 0 : retry.resetAt - servedAt;
      } catch (error) {
        signal.throwIfAborted();
        if (!mayHaveRestarted(error) || error.type === "unauthorized")
          return t("but: {0}", describeError(error));
        if (clock.now() - dueAt > tooLate) return t("but the service was out of reach");
        await clock.sleep(pauses.next().value, signal);
      }
    }
  }

  /** Nothing is started hours later without a question; it is asked once, in one window. */
  async #ask(retry: PendingRetry, why: string): Promise<void> {
    const isFirst = await this.#deps.claims.claim(nameOf(retry.id));
    await this.#drop(retry.id);
    if (!isFirst) return;
    const now = t("Run Now");
    const chosen = await this.#deps.window.showInformationMessage(
      t(
        "{0} was to be run at 00:00 UTC on {1}, {2}.",
        retry.pipeline,
        new Date(retry.resetAt).toISOString().slice(0, 10),
        why,
      ),
      now,
    );
    if (chosen === now) await this.#deps.start(retry);
  }

  #origin(): string | undefined {
    const target = this.#deps.target();
    return target.kind === "invalid" ? undefined : originOf(target);
  }

  async #drop(id: string): Promise<void> {
    this.#forget(id);
    await this.#inSequence(async () => {
      await this.#deps.store.remove(id);
      // What was being read meanwhile may have found it still there.
      this.#forget(id);
    });
  }

  #forget(id: string): void {
    const awaiting = this.#scheduled.get(id);
    this.#scheduled.delete(id);
    this.pending.set(this.pending.value.filter((retry) => retry.id !== id));
    awaiting?.abort(new Error("it was taken back"));
  }
}

/**
 * One name in all windows for the same start, so that two windows that put it off make it once; another one after it
 * was taken back.
 */
async function freeId(start: readonly unknown[], claims: Claims): Promise<string> {
  for (let count = 1; ; count++) {
    const id = createHash("sha256")
      .update(JSON.stringify([...start, count]))
      .digest("hex");
    if (!(await claims.isClaimed(nameOf(id)))) return id;
  }
}

/** Whoever claims it decides what becomes of it. */
function nameOf(id: string): string {
  return `retry/${id}`;
}
