/** Lets a test wait for what others change. */
export class Changes {
  #next = Promise.withResolvers<void>();

  changed(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Resolves as soon as the condition holds; it is looked at after each change. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#next.promise;
  }
}

/** What a callback was told, in its order, and a way to wait for more. */
export class Told<T> extends Changes {
  readonly all: T[] = [];

  readonly tell = (value: T): void => {
    this.all.push(value);
    this.changed();
  };

  /** Resolves with everything told once it is at least `count` things. */
  async atLeast(count: number): Promise<T[]> {
    await this.until(() => this.all.length >= count);
    return this.all;
  }

  /** Resolves once something told fulfils the condition. */
  async untilOne(condition: (value: T) => boolean): Promise<void> {
    await this.until(() => this.all.some(condition));
  }
}
