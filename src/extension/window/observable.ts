import type { Disposable } from "vscode";

export class Emitter<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /**
   * Calls each listener. One that throws affects neither the others nor the caller: its error becomes an unhandled rejection,
   * which the editor logs with the extension's name.
   */
  emit(value: T): void {
    for (const listener of [...this.#listeners]) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(value);
      } catch (error) {
        void Promise.reject(error);
      }
    }
  }

  /** Calls the listener with each later event, until the returned object is disposed. */
  subscribe(listener: (value: T) => void): Disposable {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }
}

export class ObservableValue<T> extends Emitter<T> {
  #value: T;

  constructor(value: T) {
    super();
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    this.emit(value);
  }

  /** Calls the listener now, with the current value, and at each change. */
  observe(listener: (value: T) => void): Disposable {
    const subscription = this.subscribe(listener);
    listener(this.#value);
    return subscription;
  }
}
