/**
 * Tells each listener. What one of them throws is its own fault: the others are told all the same, and who tells goes
 * on. As a rejection that nobody handles it stands in the editor's log, with the extension's name.
 */
export function tellEach<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  for (const listener of listeners) {
    try {
      listener(value);
    } catch (error) {
      void Promise.reject(error);
    }
  }
}
