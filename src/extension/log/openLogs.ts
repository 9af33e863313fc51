import type { Run } from "../../contract/run.ts";
import { FollowedLog, type FollowedLogDeps } from "./followedLog.ts";

export interface OpenLogsDeps extends Omit<FollowedLogDeps, "onChange"> {
  readonly onChange: (runId: string) => void;
  /** Whether a document of the editor shows this run's log. */
  readonly isShown: (runId: string) => boolean;
}

/** In milliseconds: how long a log is read without a document, since the editor reads a file before it opens it. */
const unshownFor = 20_000;
/** In milliseconds. Changing a document's language closes it and opens it again. */
const closedFor = 1_000;

/** The logs that documents show. Each is read once, for all editors, while a document shows it. */
export function openLogs(deps: OpenLogsDeps) {
  const { clock, isShown } = deps;
  const logs = new Map<string, FollowedLog>();
  const ended = new AbortController();
  const closeUnlessShown = async (log: FollowedLog, after: number) => {
    await clock.sleep(after, ended.signal).catch(() => undefined);
    if (isShown(log.runId) || logs.get(log.runId) !== log) return;
    log.dispose();
    logs.delete(log.runId);
  };
  return {
    /** The run's log; starts reading it. */
    of: (runId: string): FollowedLog => {
      const found = logs.get(runId);
      if (found !== undefined) return found;
      const log = new FollowedLog(runId, { ...deps, onChange: () => deps.onChange(runId) });
      logs.set(runId, log);
      void closeUnlessShown(log, unshownFor);
      return log;
    },
    find: (runId: string): FollowedLog | undefined => logs.get(runId),
    get size(): number {
      return logs.size;
    },
    /** A document was closed; it may be opened again at once. */
    closed: (runId: string): void => {
      const log = logs.get(runId);
      if (log !== undefined) void closeUnlessShown(log, closedFor);
    },
    update: (run: Run): void => logs.get(run.runId)?.update(run),
    /** Ends all pauses before retries: the service is back. */
    retryNow: (): void => {
      for (const log of logs.values()) log.retryNow();
    },
    dispose: (): void => {
      ended.abort();
      for (const log of logs.values()) log.dispose();
      logs.clear();
    },
  };
}
