/**
 * What the steps of one run share until it ends, such as a connection or a browser: made by the first step that needs
 * it, used by those that follow, and given up in whatever way the run ends.
 */
export class Shared implements AsyncDisposable {
  readonly #held = new Map<unknown, Map<string, Promise<AsyncDisposable>>>();
  #isDisposed = false;

  /**
   * The one of its type that goes by this name, made when there is none yet. One that couldn't be made is made again
   * when it is next asked for.
   *
   * @throws what `make` throws, and once the run has ended.
   */
  async get<T extends AsyncDisposable>(
    type: abstract new (...parts: never[]) => T,
    name: string,
    make: () => Promise<T>,
  ): Promise<T> {
    if (this.#isDisposed) throw new Error("the run was ended");
    const sameType = this.#held.get(type) ?? new Map<string, Promise<AsyncDisposable>>();
    this.#held.set(type, sameType);
    const making = sameType.get(name) ?? make();
    sameType.set(name, making);
    let thing: AsyncDisposable;
    try {
      thing = await making;
    } catch (error) {
      if (sameType.get(name) === making) sameType.delete(name);
      throw error;
    }
    if (thing instanceof type) return thing;
    throw new TypeError(`${name} is no ${type.name}`);
  }

  /** Gives up everything, also what is still being made. Never rejects: nobody is left to be told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const held = [...this.#held.values()].flatMap((sameType) => [...sameType.values()]);
    this.#held.clear();
    await Promise.allSettled(held.map(async (thing) => (await thing)[Symbol.asyncDispose]()));
  }
}
