import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Task, TaskDefinition } from "vscode";

/**
 * Which task a start is of. The editor takes tasks of equal definitions for one, also those of two folders, and calls the
 * execution of the latest; only the event that follows at once names the task.
 */
export class TaskStarts {
  readonly #begun: { readonly definition: TaskDefinition; readonly resolve: (task: Task) => void }[] = [];

  /**
   * Notes that the editor has called a task's execution.
   * @param definition as the execution got it.
   * @returns what gives the task, once its terminal is open; undefined where the editor has not named it by then.
   */
  begin(definition: TaskDefinition): () => Promise<Task | undefined> {
    const { promise, resolve } = Promise.withResolvers<Task>();
    this.#begun.push({ definition, resolve });
    return () => Promise.race([promise, nextTurn(undefined)]);
  }

  /** Notes the editor's event. @param task of this extension's type; maybe one that another extension executes by itself. */
  note(task: Task): void {
    const same = this.#begun.findIndex(({ definition }) =>
      isDeepStrictEqual({ ...definition }, { ...task.definition }),
    );
    // The execution gets variables such as `${workspaceFolder}` replaced.
    const [start] = this.#begun.splice(Math.max(0, same), 1);
    start?.resolve(task);
  }
}
