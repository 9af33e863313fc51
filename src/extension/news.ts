import type { Disposable } from "vscode";
import { tellEach } from "./tellEach.ts";

/** Something that happens now and then; who listens is told each time, and not of what was before. */
export class News<T> {
  readonly #listeners = new Set<(value: T) => void>();

  tell(value: T): void {
    tellEach([...this.#listeners], value);
  }

  listen(listener: (value: T) => void): Disposable {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}
