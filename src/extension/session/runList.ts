import { isDeepStrictEqual } from "node:util";
import type { Disposable, LogOutputChannel } from "vscode";
import { newestFirst } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { describeError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import type { Changes, Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { ObservableValue } from "../window/observable.ts";
import type { OrgReading } from "./serviceConnection.ts";
import type { Session } from "./session.ts";

/** The org's runs, as far as they are known. */
export type RunListState =
  /** Not read yet, or out of reach; runs that may be stale aren't shown. */
  | { readonly kind: "unknown" }
  /** The service doesn't list runs (contract: "Endpoints", rows marked given). */
  | { readonly kind: "not-listed" }
  /** The list can't be read although the service is within reach; reading is retried. */
  | { readonly kind: "failed" }
  | {
      readonly kind: "listed";
      /** Newest first. A run remains the same object until it changes. */
      readonly runs: readonly Run[];
      /** Whether the service has older ones; see {@link RunList.loadMore}. */
      readonly hasMore: boolean;
      /** The id of this window's key: the `actor` of its own runs. */
      readonly me: string;
      /** How far the service's clock is ahead of this machine's, in milliseconds; 0 if unknown. */
      readonly clockAhead: number;
    };

export interface RunListDeps {
  readonly session: Pick<Session, "state" | "reading" | "runChanged" | "currentClient">;
  readonly log: Pick<LogOutputChannel, "warn">;
}

const pageSize = 50;
/** How many active runs that are no longer on the first page are read one by one. */
const mostReadAlone = 5;
/** The pauses between attempts to read the list, in milliseconds. */
const retryBounds = { shortest: 2000, longest: 300_000 } as const;

/**
 * The org's runs for the views, the lenses and the logs: read page by page while something retains the list, and kept up to date
 * by the service's events. Unretained, it sends no request.
 */
export class RunList implements Disposable {
  readonly state = new ObservableValue<RunListState>({ kind: "unknown" });
  readonly #deps: RunListDeps;
  readonly #subscriptions: readonly Disposable[];
  #retainCount = 0;
  #reading: AbortController | undefined;
  /** The service whose runs are listed, and the cursor of its next page. */
  #source: ServiceClient | undefined;
  #next: string | undefined;
  #clockAhead = 0;
  /** Runs from events during the reading of the first page, which are newer than it. */
  readonly #changedMeanwhile = new Map<string, Run>();
  /** Whether events keep the list up to date. */
  #isLive = false;
  /** The org as a service without events last reported it; the runs are read again with each new object. */
  #polledOrg: Org | undefined;

  constructor(deps: RunListDeps) {
    this.#deps = deps;
    this.#subscriptions = [
      deps.session.state.observe(() => this.#update()),
      deps.session.runChanged.subscribe((run) => this.#put(run)),
    ];
  }

  /** Keeps the list up to date until the returned object is disposed. */
  retain(): Disposable {
    this.#retainCount += 1;
    this.#update();
    return {
      dispose: () => {
        this.#retainCount -= 1;
        this.#update();
      },
    };
  }

  find(runId: string): Run | undefined {
    return this.#runs().find((run) => run.runId === runId);
  }

  /**
   * Reads the next page of older runs; does nothing if there is none.
   * @throws PipelineError as `ServiceClient.runs`.
   */
  async loadMore(signal: AbortSignal): Promise<void> {
    const client = this.#source;
    const after = this.#next;
    if (client === undefined || after === undefined || this.state.value.kind !== "listed") return;
    const page = await client.runs({ limit: pageSize, after }, signal);
    // The list may have been reset in the meantime, or another caller may have read this page.
    if (this.#source !== client || this.#next !== after) return;
    this.#next = page.next;
    // Listed runs are newer than the page's.
    this.#setRuns([...this.#runs(), ...page.runs], [...page.runs, ...this.#runs()]);
  }

  /** Reads a run with its steps, which lists leave out, into the list. @throws PipelineError as `ServiceClient.run`. */
  async readSteps(runId: string, signal: AbortSignal): Promise<void> {
    const client = this.#source;
    if (client === undefined) return;
    const before = this.find(runId);
    const run = await client.run(runId, signal);
    if (this.#source !== client) return;
    // An event in the meantime is newer, but has no steps.
    const now = this.find(runId);
    this.#put(now === before || now === undefined ? run : withSteps(now, run));
  }

  /** What changed since a run's pipeline last succeeded. @throws PipelineError as `ServiceClient.changes`. */
  async readChanges(runId: string, signal: AbortSignal): Promise<Changes | undefined> {
    return this.#source?.changes(runId, signal);
  }

  /**
   * Reads the newest runs again and keeps the older pages: when the person asks, and if there are no events. Resets a list that
   * failed.
   * @throws PipelineError as `ServiceClient.runs`.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    const client = this.#source;
    if (client !== undefined && this.state.value.kind === "failed") {
      this.#forget();
      this.#begin(client);
    }
    if (client === undefined || this.state.value.kind !== "listed") return;
    const { runs, next } = await client.runs({ limit: pageSize }, signal);
    if (this.#source !== client) return;
    // There may be unread runs between this page and the listed ones.
    const isNew = !runs.some(({ runId }) => this.find(runId) !== undefined);
    if (next !== undefined && (isNew || this.#next === undefined)) this.#next = next;
    const fresh = new Set(runs.map(({ runId }) => runId));
    const unsure = this.#runs().filter((run) => isActive(run) && !fresh.has(run.runId));
    const asked = await Promise.all(
      unsure.slice(0, mostReadAlone).map(({ runId }) => client.run(runId, signal).catch(() => undefined)),
    );
    if (this.#source !== client) return;
    const told = [...runs, ...asked.filter((run) => run !== undefined)];
    this.#setRuns([...runs, ...this.#runs()], [...this.#runs(), ...told]);
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#retainCount = 0;
    this.#forget();
  }

  #update(): void {
    const { state, currentClient } = this.#deps.session;
    const { value } = state;
    const live = value.kind === "live" ? value : undefined;
    const isWanted = this.#retainCount > 0;
    // Without events the list goes stale while nothing retains it.
    const stays = isWanted || (live?.activeRuns !== undefined && this.state.value.kind === "listed");
    const source =
      live !== undefined && stays && (isWanted || currentClient === this.#source) ? currentClient : undefined;
    const isTold = live?.activeRuns !== undefined;
    const isToldNow = isTold && !this.#isLive;
    this.#isLive = isTold;
    if (source !== this.#source) {
      this.#forget();
      this.#polledOrg = live?.org;
      if (source !== undefined) this.#begin(source);
    } else if (isToldNow && source !== undefined) {
      // Reads again what changed before the events began.
      if (this.state.value.kind === "listed") this.#readAgain();
      else {
        this.#forget();
        this.#begin(source);
      }
    } else if (
      live !== undefined &&
      live.activeRuns === undefined &&
      isWanted &&
      live.org !== this.#polledOrg
    ) {
      if (this.state.value.kind === "failed") return;
      this.#polledOrg = live.org;
      this.#readAgain();
    }
  }

  #readAgain(): void {
    const { signal } = this.#reading ?? {};
    if (signal === undefined) return;
    void this.refresh(signal).catch((error: unknown) => this.#warn(error, signal));
  }

  #begin(source: ServiceClient): void {
    this.#source = source;
    const reading = new AbortController();
    this.#reading = reading;
    void this.#read(source, reading.signal);
  }

  async #read(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const pauses = growingPauses(Math.random, retryBounds);
    while ((await this.#readFirstPage(client, signal)) === "failed" && !signal.aborted) {
      await client.clock.sleep(pauses.next().value, signal).catch(() => undefined);
    }
  }

  async #readFirstPage(client: ServiceClient, signal: AbortSignal): Promise<"done" | "failed"> {
    try {
      const page = await client.runs({ limit: pageSize }, signal);
      if (signal.aborted) return "done";
      this.#next = page.next;
      this.#setRuns(page.runs, page.runs);
      return "done";
    } catch (error) {
      if (signal.aborted) return "done";
      if (error instanceof AbsentEndpoint) {
        this.state.set({ kind: "not-listed" });
        return "done";
      }
      this.#warn(error, signal);
      // Retried until the session notices that the service is gone.
      if (this.state.value.kind !== "failed") this.state.set({ kind: "failed" });
      return "failed";
    }
  }

  #warn(error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.#deps.log.warn(`The runs could not be listed: ${describeError(error)}`);
  }

  #forget(): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#source = undefined;
    this.#next = undefined;
    this.#clockAhead = 0;
    this.#changedMeanwhile.clear();
    if (this.state.value.kind !== "unknown") this.state.set({ kind: "unknown" });
  }

  #put(run: Run): void {
    if (this.#source === undefined) return;
    const runs = this.#runs();
    const isListed = runs.some(({ runId }) => runId === run.runId);
    if (this.state.value.kind === "listed") this.#setRuns(isListed ? runs : [run, ...runs], [...runs, run]);
    else this.#changedMeanwhile.set(run.runId, run);
  }

  #runs(): readonly Run[] {
    return this.state.value.kind === "listed" ? this.state.value.runs : [];
  }

  /**
   * @param listed the runs in the service's order, which is kept if they have no times.
   * @param read the runs as they were read, the newest state last.
   */
  #setRuns(listed: readonly Run[], read: readonly Run[]): void {
    const { state, reading } = this.#deps.session;
    const { value } = state;
    if (value.kind !== "live") return;
    if (reading.value !== undefined) this.#clockAhead = aheadOf(reading.value);
    const byId = new Map<string, Run>();
    for (const run of [...read, ...this.#changedMeanwhile.values()]) {
      const before = byId.get(run.runId);
      byId.set(run.runId, before === undefined ? run : merge(run, before));
    }
    const ids = new Set([...this.#changedMeanwhile.keys(), ...listed.map(({ runId }) => runId)]);
    this.#changedMeanwhile.clear();
    const runs = newestFirst([...ids].flatMap((runId) => byId.get(runId) ?? []));
    const { actor: me } = value.org;
    this.state.set({
      kind: "listed",
      runs,
      hasMore: this.#next !== undefined,
      me,
      clockAhead: this.#clockAhead,
    });
  }
}

/** The newer state of a run; the older object if nothing changed. */
function merge(run: Run, before: Run): Run {
  const known = withSteps(run, before);
  return isDeepStrictEqual(known, before) ? before : known;
}

/** The run with the steps of its other state, as long as they may still be complete. */
function withSteps(run: Run, before: Run): Run {
  if (run.steps !== undefined || before.steps === undefined) return run;
  const isSame = run.status === before.status && run.stoppedAt === before.stoppedAt;
  return isSame ? { ...run, steps: before.steps } : run;
}

/** How far the service's clock is ahead, in milliseconds; less than 2 s counts as none, since `Date` has whole seconds. */
function aheadOf({ at, servedAt }: OrgReading): number {
  const ahead = servedAt - at;
  return Math.abs(ahead) < 2000 ? 0 : ahead;
}
