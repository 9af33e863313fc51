import type { Disposable } from "vscode";

/** Something that happens now and then; who listens is told each time, and not of what was before. */
export class News<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /**
   * Tells each listener. What one of them throws is its own fault: the others are told all the same, and who tells goes
   * on. As a rejection that nobody handles it stands in the editor's log, with the extension's name.
   */
  tell(value: T): void {
    for (const listener of [...this.#listeners]) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(value);
      } catch (error) {
        void Promise.reject(error);
      }
    }
  }

  listen(listener: (value: T) => void): Disposable {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}

/** A value that screens follow: each listener is told the value as it is, then every change. */
export class Observed<T> {
  #value: T;
  readonly #changes = new News<T>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    this.#changes.tell(value);
  }

  follow(listener: (value: T) => void): Disposable {
    const following = this.listen(listener);
    listener(this.#value);
    return following;
  }

  /** Tells of every change, and not of the value as it is. */
  listen(listener: (value: T) => void): Disposable {
    return this.#changes.listen(listener);
  }
}
