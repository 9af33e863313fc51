import type { Disposable } from "vscode";
import { tellEach } from "./tellEach.ts";

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
    tellEach(this.#listeners, value);
  }

  follow(listener: (value: T) => void): Disposable {
    this.#listeners.add(listener);
    listener(this.#value);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}
