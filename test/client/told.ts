/** What a callback was told, in its order, and a way to wait for more. */
export class Told<T> {
  readonly all: T[] = [];
  readonly #watchers = new Set<() => void>();

  readonly tell = (value: T): void => {
    this.all.push(value);
    for (const watcher of [...this.#watchers]) watcher();
  };

  /** Resolves with everything told once it is at least `count` things. */
  async atLeast(count: number): Promise<T[]> {
    while (this.all.length < count) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#watchers.delete(look);
          resolve();
        };
        this.#watchers.add(look);
      });
    }
    return this.all;
  }
}
