import { t } from "@vscode/l10n";
import type { Disposable, window as vscodeWindow } from "vscode";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import type { Run } from "../../contract/run.ts";
import { type RecentRunDeps, recentRun, runIdOf } from "../commands/pickRun.ts";
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

  /** The run's log, if it is being read. */
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

  /** Stops reading a log that no document shows. */
  closeUnlessShown(runId: string): void {
    if (!this.#deps.isShown(runId)) this.#close(runId);
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
    this.#close(log.runId);
  }

  #close(runId: string): void {
    this.#logs.get(runId)?.dispose();
    this.#logs.delete(runId);
  }
}

export interface OpenLogDeps extends RecentRunDeps {
  readonly logs: Pick<OpenLogs, "of" | "closeUnlessShown">;
  readonly window: RecentRunDeps["window"] & Pick<typeof vscodeWindow, "showInformationMessage">;
  /** Shows the document of a run's log. */
  readonly show: (run: Run) => Promise<void>;
}

/**
 * “Open Run Log…”: shows a run's log as a document.
 * @param wanted `{ runId }` or a run's id; without it, the person picks a run.
 * @throws PipelineError, but not for a service without logs, which is said.
 */
export async function openLog(wanted: unknown, deps: OpenLogDeps): Promise<void> {
  const { logs, show, session, signal, window } = deps;
  const words = { title: t("Open Run Log"), placeHolder: t("Select the run whose log to open") };
  const runId = runIdOf(wanted) ?? (await recentRun(undefined, words, deps))?.runId;
  if (runId === undefined) return;
  try {
    await show(await openedRun(runId, logs));
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { host } = (await session.connect(signal)).baseUrl;
    void window.showInformationMessage(t("{0} does not give the logs of its runs.", host));
  }
}

async function openedRun(runId: string, logs: OpenLogDeps["logs"]): Promise<Run> {
  const log = logs.of(runId);
  try {
    return log.run ?? (await log.opened);
  } catch (error) {
    logs.closeUnlessShown(runId);
    throw error;
  }
}
