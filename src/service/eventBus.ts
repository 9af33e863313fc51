/** What changed in an org; who listens reads the new state, so that it is never older than the telling. */
export type Change =
  | { readonly kind: "org" }
  | { readonly kind: "run"; readonly runId: string }
  /** A run is another one now, though that couldn't be written: it has no number of a change. */
  | { readonly kind: "unwritten-run"; readonly runId: string };

type Listener = (change: Change) => void;

/** Tells the listeners of an org what changed in it. */
export class Changes {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** How many listen, in all orgs. */
  get listening(): number {
    return [...this.#listeners.values()].reduce((sum, listeners) => sum + listeners.size, 0);
  }

  /** @returns the way to stop listening; stopping twice changes nothing. */
  listen(orgId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(orgId) ?? new Set();
    this.#listeners.set(orgId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      // The org may have others by now, in a set of their own.
      if (listeners.size === 0 && this.#listeners.get(orgId) === listeners) this.#listeners.delete(orgId);
    };
  }

  tell(orgId: string, change: Change): void {
    for (const listener of this.#listeners.get(orgId) ?? []) listener(change);
  }

  /** Tells every org's listeners, as at 00:00 UTC. */
  tellAll(change: Change): void {
    for (const orgId of this.#listeners.keys()) this.tell(orgId, change);
  }
}
