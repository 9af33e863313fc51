import { EventEmitter } from "node:events";

/** What changed in an org. Subscribers read the new state from the database, so it is never older than the event. */
export type BusEvent = { readonly kind: "org" } | { readonly kind: "run"; readonly runId: string };

/** Emits each org's events to its subscribers. */
export class EventBus {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  get subscribers(): number {
    return this.#emitter.eventNames().reduce((sum, orgId) => sum + this.#emitter.listenerCount(orgId), 0);
  }

  /** @returns a function that unsubscribes; calling it again does nothing. */
  subscribe(orgId: string, subscriber: (event: BusEvent) => void): () => void {
    this.#emitter.on(orgId, subscriber);
    return () => void this.#emitter.off(orgId, subscriber);
  }

  emit(orgId: string, event: BusEvent): void {
    this.emitHere(orgId, event);
  }

  /** Emits to the subscribers of this process alone. */
  protected emitHere(orgId: string, event: BusEvent): void {
    // Another process may send any text as an org's id, and Node throws for an `error` without a listener.
    if (this.#emitter.listenerCount(orgId) > 0) this.#emitter.emit(orgId, event);
  }

  /** Emits to every org's subscribers in this process, as at 00:00 UTC. */
  emitToAll(event: BusEvent): void {
    for (const orgId of this.#emitter.eventNames()) this.#emitter.emit(orgId, event);
  }
}
