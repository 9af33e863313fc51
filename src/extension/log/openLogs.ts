import type { Disposable } from "vscode";
import type { Run } from "../../contract/run.ts";
import { FollowedLog, type FollowedLogDeps } from "./followedLog.ts";

export interface OpenLogsDeps extends Omit<FollowedLogDeps, "onChange"> {
  readonly onChange: (runId: string) => void;
  /** Whether a document of the editor shows this run's log. */
  readonly isShown: (runId: string) => boolean;
}

/** In milliseconds: how long a log is read without a document, since the editor reads a file before it opens it. */
const unshownFor = 20_000;
/** In milliseconds: changing a document's language closes and opens it. */
const closedFor = 1_000;

/** The logs that documents show: each is read once, for all editors, while a document shows it. */
export class OpenLogs implements Disposable {
  readonly #deps: OpenLogsDeps;
  readonly #logs = new Map<string, FollowedLog>();
  readonly #ended = new AbortController();

  constructor(deps: OpenLogsDeps) {
    this.#deps = deps;
  }

  /** The run's log; starts reading it. */
  of(runId: string): FollowedLog {
    const found = this.#logs.get(runId);
    if (found !== undefined) return found;
    const log = new FollowedLog(runId, { ...this.#deps, onChange: () => this.#deps.onChange(runId) });
    this.#logs.set(runId, log);
    void this.#closeUnlessShown(log, unshownFor);
    return log;
  }

  find(runId: string): FollowedLog | undefined {
    return this.#logs.get(runId);
  }

  get size(): number {
    return this.#logs.size;
  }

  /** A document was closed; it may be opened again at once. */
  closed(runId: string): void {
    const log = this.#logs.get(runId);
    if (log !== undefined) void this.#closeUnlessShown(log, closedFor);
  }

  update(run: Run): void {
    this.#logs.get(run.runId)?.update(run);
  }

  /** Retries now what waits for a retry: the service is back. */
  retryNow(): void {
    for (const log of this.#logs.values()) log.retryNow();
  }

  dispose(): void {
    this.#ended.abort();
    for (const log of this.#logs.values()) log.dispose();
    this.#logs.clear();
  }

  async #closeUnlessShown(log: FollowedLog, after: number): Promise<void> {
    const { clock, isShown } = this.#deps;
    await clock.sleep(after, this.#ended.signal).catch(() => undefined);
    if (isShown(log.runId) || this.#logs.get(log.runId) !== log) return;
    log.dispose();
    this.#logs.delete(log.runId);
  }
}
