import { createHash } from "node:crypto";
import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, window as vscodeWindow } from "vscode";
import { mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { nextReset } from "../../contract/day.ts";
import { describeError } from "../../contract/errors.ts";
import type { InputValues } from "../../contract/inputs.ts";
import type { Clock } from "../../machine/clock.ts";
import { originOf, type Target } from "../keys/target.ts";
import type { Session } from "../session/session.ts";
import { ObservableValue } from "../window/observable.ts";
import type { DeferredStart, PendingRetry, RetryStore, Taken } from "./retryFiles.ts";

export interface ResetRetriesDeps {
  readonly store: RetryStore;
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
  readonly clock: Clock;
  /** A number from 0 up to 1, for the jitter. */
  readonly random: () => number;
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage" | "setStatusBarMessage">;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  readonly start: (request: DeferredStart) => Promise<void>;
}

/** In milliseconds: thousands may wait for the same moment, so each starts a little later. */
const jitter = { least: 1000, most: 10_000 } as const;
/** In milliseconds: a start that is later than this asks the person first. */
const tooLate = 5 * 60_000;
/** In milliseconds: how often the clock is checked, since timers stop while a machine sleeps. */
const checkInterval = 30_000;
/** In milliseconds. */
const statusBarTime = 8000;

/**
 * Starts that a used-up day refused and that the person deferred to 00:00 UTC. They are stored for all windows of the
 * workspace and outlive a reload, a crash and a restart of the editor; one window makes each, by the service's clock; a
 * start whose time passed unseen asks the person.
 */
export class ResetRetries implements Disposable {
  /** The deferred starts, the next one first. */
  readonly pending = new ObservableValue<readonly PendingRetry[]>([]);
  /** Resolves when the stored starts are loaded. */
  readonly loaded: Promise<void>;
  readonly #deps: ResetRetriesDeps;
  readonly #scheduled = new Map<string, AbortController>();
  /** Those that stay stored, since they can't be removed: this window is done with them. */
  readonly #done = new Set<string>();
  readonly #watch: { dispose(): void };
  /** Reads and writes of the store run one after another, so that no read undoes a write. */
  #working: Promise<unknown> = Promise.resolve();
  #isDisposed = false;

  constructor(deps: ResetRetriesDeps) {
    this.#deps = deps;
    const load = () => this.#inSequence(() => this.#load());
    this.#watch = deps.store.onDidChange(() => void load());
    this.loaded = load();
  }

  /**
   * Defers a start to the next 00:00 UTC; the same pipeline from the same step with the same inputs only once.
   * @throws PipelineError as `ServiceClient.orgAndTime` and `Session.connect`, and when it can't be stored.
   */
  async add(request: DeferredStart, signal: AbortSignal): Promise<PendingRetry> {
    const { clock, store, random } = this.#deps;
    const { pipeline, project, timeLimitSeconds, fromStep, inputs } = request;
    await this.loaded;
    const client = await this.#deps.session.connect(signal);
    const { org, servedAt } = await client.orgAndTime(signal);
    const now = clock.now();
    const resetAt = nextReset(servedAt ?? now);
    const late = jitter.least + random() * (jitter.most - jitter.least);
    const origin = this.#origin() ?? "";
    const retry: PendingRetry = {
      id: idOf([origin, org.orgId, project, pipeline, fromStep, ...sorted(inputs), resetAt]),
      pipeline,
      project,
      timeLimitSeconds,
      fromStep,
      inputs,
      resetAt,
      dueAt: Math.round(now + (resetAt - (servedAt ?? now)) + late),
      origin,
      orgId: org.orgId,
    };
    return this.#inSequence(async () => {
      const there = this.pending.value.find(({ id }) => id === retry.id) ?? retry;
      // Also again: another window may have cancelled it just now.
      await store.put(there);
      this.#done.delete(there.id);
      this.#schedule(there);
      return there;
    });
  }

  /** Cancels a deferred start, in all windows. */
  async cancel({ id }: Pick<PendingRetry, "id">): Promise<void> {
    await this.#take(id);
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

  /** Loads the stored starts of all windows, and drops those no longer stored. */
  async #load(): Promise<void> {
    const { retries, isWhole } = await this.#deps.store.list();
    const ids = new Set(retries.map(({ id }) => id));
    // A start that can't be read just now was not cancelled.
    const gone = isWhole ? this.pending.value.filter(({ id }) => !ids.has(id)) : [];
    for (const { id } of gone) this.#forget(id);
    for (const retry of retries) this.#schedule(retry);
  }

  #schedule(retry: PendingRetry): void {
    if (this.#isDisposed || this.#scheduled.has(retry.id) || this.#done.has(retry.id)) return;
    const awaiting = new AbortController();
    this.#scheduled.set(retry.id, awaiting);
    this.pending.set([...this.pending.value, retry]);
    const { log } = this.#deps;
    this.#waitAndStart(retry, awaiting.signal).catch((error: unknown) => {
      if (!awaiting.signal.aborted) log.warn(`${retry.pipeline}, at 00:00 UTC: ${describeError(error)}`);
    });
  }

  async #waitAndStart(retry: PendingRetry, signal: AbortSignal): Promise<void> {
    const { clock, log, start, window } = this.#deps;
    let { dueAt } = retry;
    for (;;) {
      for (let left = dueAt - clock.now(); left > 0; left = dueAt - clock.now()) {
        await clock.sleep(Math.min(left, checkInterval), signal);
        // Another window may have cancelled it where the system doesn't tell of it.
        await this.#inSequence(() => this.#load());
        signal.throwIfAborted();
      }
      if (clock.now() - dueAt > tooLate) return this.#ask(retry, t("while this window was closed or asleep"));
      const found = await this.#untilReset(retry, dueAt, signal);
      if (typeof found === "string") return this.#ask(retry, found);
      if (found <= 0) break;
      dueAt = clock.now() + found;
    }
    const taken = await this.#take(retry.id);
    if (taken === "unknown") return this.#tell(retry, t("but whether another window runs it can't be noted"));
    if (taken === "gone") return;
    log.info(`${retry.pipeline}: started at 00:00 UTC, as it was asked for`);
    window.setStatusBarMessage(
      `$(watch) ${t("Starting a run that was scheduled for 00:00 UTC")}`,
      statusBarTime,
    );
    await start(retry);
  }

  /** Milliseconds to the reset, on the service's clock. @returns a text that says why the start can't be made. */
  async #untilReset(retry: PendingRetry, dueAt: number, signal: AbortSignal): Promise<number | string> {
    const { clock, random, session } = this.#deps;
    const pauses = growingPauses(random, { shortest: 2000, longest: 30_000 });
    for (;;) {
      if (this.#origin() !== retry.origin) return t("but this window now uses another service");
      try {
        const client = await session.connect(signal);
        const { org, servedAt } = await client.orgAndTime(signal);
        if (org.orgId !== retry.orgId) return t("but this window now uses a key of another org");
        return servedAt === undefined ? 0 : retry.resetAt - servedAt;
      } catch (error) {
        signal.throwIfAborted();
        if (!mayHaveRestarted(error) || error.type === "unauthorized")
          return t("but: {0}", describeError(error));
        if (clock.now() - dueAt > tooLate) return t("but the service could not be reached");
        await clock.sleep(pauses.next().value, signal);
      }
    }
  }

  /** Asks, in one window, about a start that can't be made on time. */
  async #ask(retry: PendingRetry, why: string): Promise<void> {
    if ((await this.#take(retry.id)) !== "gone") await this.#tell(retry, why);
  }

  async #tell(retry: PendingRetry, why: string): Promise<void> {
    const now = t("Run Now");
    const chosen = await this.#deps.window.showInformationMessage(
      t(
        "{0} was scheduled for 00:00 UTC on {1}, {2}.",
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

  /** Forgets a start, and removes it for all windows. */
  async #take(id: string): Promise<Taken> {
    this.#forget(id);
    return this.#inSequence(async () => {
      const taken = await this.#deps.store.take(id);
      if (taken === "unknown") this.#done.add(id);
      // A read that ran meanwhile may have found it.
      this.#forget(id);
      return taken;
    });
  }

  #forget(id: string): void {
    const awaiting = this.#scheduled.get(id);
    this.#scheduled.delete(id);
    this.pending.set(this.pending.value.filter((retry) => retry.id !== id));
    awaiting?.abort(new Error("it was taken back"));
  }
}

/** The same in all windows, so that a start that two of them defer is made once. */
function idOf(start: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(start)).digest("hex");
}

function sorted(inputs: InputValues = {}): (readonly [string, unknown])[] {
  return Object.entries(inputs).sort(([one], [other]) => (one < other ? -1 : 1));
}
