import type { RunListState } from "../session/runList.ts";
import type { SessionState } from "../session/serviceConnection.ts";
import type { WindowFilesState } from "../window/windowFiles.ts";

/**
 * The manifest's welcome text of an empty Runs view, as a value for its `when` clauses: empty where there are rows, or the text
 * isn't known yet. Obstacles come first; only if the service lists no runs is there a text about runs.
 */
export function runsWelcome(session: SessionState, runs: RunListState, files: WindowFilesState) {
  switch (session.kind) {
    case "idle":
      // An untrusted window doesn't follow this machine's own service.
      return files.kind === "untrusted" ? "untrusted" : "";
    case "connecting":
      return "";
    case "no-key":
      return session.refused ? "key-refused" : "no-key";
    case "out-of-reach":
      return session.retried ? "out-of-reach" : "settings";
    case "stopped":
      return "stopped";
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
      if (runs.runs.length > 0) return "";
      return files.kind === "pipelines" ? "no-runs" : pipelinesWelcome(files);
  }
}

/** The same for the Pipelines view, which needs no service. */
export function pipelinesWelcome(files: WindowFilesState) {
  return files.kind === "unknown" || files.kind === "pipelines" ? "" : files.kind;
}

/** The context keys in the manifest's `when` clauses, with their values. */
export interface Contexts {
  readonly "pipelineRuns.runsWelcome": ReturnType<typeof runsWelcome>;
  readonly "pipelineRuns.pipelinesWelcome": ReturnType<typeof pipelinesWelcome>;
  readonly "pipelineRuns.hasTags": boolean;
}

/** Sets context keys, but only when they change. */
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
