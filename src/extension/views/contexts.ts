import type { PipelinesWelcome, RunsWelcome } from "./welcome.ts";

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
