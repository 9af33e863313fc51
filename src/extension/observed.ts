import type { Disposable } from "vscode";

/** A value that screens follow: each listener is told the value as it is, then every change. */
export class Observed<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    for (const listener of this.#listeners) listener(value);
  }

  follow(listener: (value: T) => void): Disposable {
    this.#listeners.add(listener);
    listener(this.#value);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}
