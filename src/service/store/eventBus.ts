/** What changed in an org. Subscribers read the new state from the database, so it is never older than the event. */
export type BusEvent =
  | { readonly kind: "org" }
  | { readonly kind: "run"; readonly runId: string }
  /** The run changed, but the change could not be written: it has no sequence number. */
  | { readonly kind: "unwritten-run"; readonly runId: string };

type Subscriber = (event: BusEvent) => void;

/** Emits each org's events to its subscribers. */
export class EventBus {
  readonly #subscribers = new Map<string, Set<Subscriber>>();

  /** The number of subscribers, in all orgs. */
  get subscribers(): number {
    return [...this.#subscribers.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** @returns a function that unsubscribes; calling it again does nothing. */
  subscribe(orgId: string, subscriber: Subscriber): () => void {
    const subscribers = this.#subscribers.get(orgId) ?? new Set();
    this.#subscribers.set(orgId, subscribers.add(subscriber));
    return () => {
      subscribers.delete(subscriber);
      // The org may have got a new set since.
      if (subscribers.size === 0 && this.#subscribers.get(orgId) === subscribers)
        this.#subscribers.delete(orgId);
    };
  }

  emit(orgId: string, event: BusEvent): void {
    this.emitHere(orgId, event);
  }

  /** Emits to the subscribers of this process alone. */
  protected emitHere(orgId: string, event: BusEvent): void {
    for (const subscriber of this.#subscribers.get(orgId) ?? []) subscriber(event);
  }

  /** Emits to every org's subscribers in this process, as at 00:00 UTC. */
  emitToAll(event: BusEvent): void {
    for (const orgId of this.#subscribers.keys()) this.emitHere(orgId, event);
  }
}
