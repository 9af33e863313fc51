import type { RunListState } from "../session/runList.ts";
import type { SessionState } from "../session/session.ts";
import type { WindowFilesState } from "../window/windowFiles.ts";

/** Which of the manifest's welcome texts an empty Runs view shows; the values of its `when` clauses. */
export type RunsWelcome =
  /** Nothing is to be said: there are rows, or it isn't known yet whether there will be. */
  | ""
  | "no-key"
  | "key-refused"
  | "out-of-reach"
  | "settings"
  | "list-failed"
  | "not-listed"
  | "no-folder"
  | "virtual"
  | "untrusted"
  | "no-pipelines"
  | "no-runs";

/** The same of the Pipelines view, which needs no service. */
export type PipelinesWelcome = "" | "no-folder" | "virtual" | "untrusted" | "no-pipelines";

/** What is in the way comes first; only where the service says that there is no run is it told what to do about that. */
export function runsWelcome(session: SessionState, runs: RunListState, files: WindowFilesState): RunsWelcome {
  switch (session.kind) {
    case "idle":
      // The own service is not followed before the person trusts the files.
      return files.kind === "untrusted" ? "untrusted" : "";
    case "connecting":
      return "";
    case "no-key":
      return session.refused ? "key-refused" : "no-key";
    case "out-of-reach":
      return session.retried ? "out-of-reach" : "settings";
    case "not-supported":
      return "virtual";
    case "live":
      break;
    default:
      return session satisfies never;
  }
  switch (runs.kind) {
    case "unknown":
      return "";
    case "failed":
      return "list-failed";
    case "not-listed":
      return "not-listed";
    case "listed":
      return runs.runs.length > 0 ? "" : withoutRuns(files);
    default:
      return runs satisfies never;
  }
}

export function pipelinesWelcome(files: WindowFilesState): PipelinesWelcome {
  return files.kind === "unknown" || files.kind === "pipelines" ? "" : files.kind;
}

function withoutRuns(files: WindowFilesState): RunsWelcome {
  return files.kind === "pipelines" ? "no-runs" : pipelinesWelcome(files);
}

/** The context keys that the manifest's `when` clauses look at, with what they may hold. */
export interface Contexts {
  readonly "pipelineRuns.runsWelcome": RunsWelcome;
  readonly "pipelineRuns.pipelinesWelcome": PipelinesWelcome;
}

/** The one place that sets context keys; it tells the editor of changes only. */
export class ContextKeys {
  readonly #executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly #set = new Map<string, unknown>();

  constructor(executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>) {
    this.#executeCommand = executeCommand;
  }

  set<Key extends keyof Contexts>(key: Key, value: Contexts[Key]): void {
    if (this.#set.get(key) === value) return;
    this.#set.set(key, value);
    void this.#executeCommand("setContext", key, value);
  }
}
