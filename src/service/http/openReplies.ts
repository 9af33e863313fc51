import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import { PipelineError } from "../../contract/errors.ts";
import { repeat } from "../../machine/clock.ts";
import { revokedAmong } from "../store/keys.ts";
import type { StoreDeps } from "../store/storeDeps.ts";

type Outgoing = HttpBindings["outgoing"];

/** An event stream may end after any event, JSON lines only when complete. */
export type LiveType = "text/event-stream" | "application/x-ndjson";

export class OpenReply {
  readonly outgoing: Outgoing;
  /** The key that it is for; undefined until the request is authenticated, and where no key is needed. */
  keyId: string | undefined;
  /** The type of a live reply; undefined for any other. */
  live: LiveType | undefined;
  readonly #left = new AbortController();

  constructor(outgoing: Outgoing) {
    this.outgoing = outgoing;
  }

  /**
   * Aborts when the caller closes the connection before the reply is finished, or when the key is revoked; the reason is the
   * error to reply. Only held requests need it; a stream is ended anyway.
   */
  get left(): AbortSignal {
    // Checks the request's socket too, since a reply has none until the earlier ones on its connection are finished.
    if (this.outgoing.destroyed || this.outgoing.req.socket.destroyed) this.closed();
    return this.#left.signal;
  }

  /** The reply is finished, or its connection is closed. */
  closed(): void {
    if (this.outgoing.writableFinished) return;
    this.#left.abort(new PipelineError("out-of-reach", "The caller closed the connection."));
  }

  keyRevoked(): void {
    this.#left.abort(revoked());
    this.breakOff();
  }

  /** Ends a reply that has begun: an event stream in order; any other is broken off, so that it doesn't look complete. */
  breakOff(): void {
    if (!this.outgoing.headersSent || this.outgoing.writableEnded) return;
    if (this.live === "text/event-stream") this.outgoing.end();
    else this.outgoing.destroy();
  }
}

function revoked(): PipelineError {
  return new PipelineError("unauthorized", "The API key was revoked.");
}

/**
 * How long event streams go on in a shutdown, in milliseconds, so that they still say how the last runs ended; and how
 * long all other replies may take.
 */
const shutdownTimeouts = { streams: 250, replies: 2_000 } as const;

/** Every reply that is not finished: those of a revoked key are ended, and a shutdown finishes the rest. */
export class OpenReplies {
  readonly #open = new Set<OpenReply>();
  #stopping = false;

  /** Whether each reply should be the last one on its connection. */
  get stopping(): boolean {
    return this.#stopping;
  }

  get count(): number {
    return this.#open.size;
  }

  /** The replies to requests that may change something, held starts among them. */
  get changing(): number {
    return [...this.#open].filter(({ outgoing: { req } }) => req.method !== "GET" && req.method !== "HEAD")
      .length;
  }

  /** Tracks a reply until it is finished or its caller has left, then calls `onClosed`. */
  add(outgoing: Outgoing, onClosed: () => void): OpenReply {
    const open = new OpenReply(outgoing);
    if (!outgoing.destroyed) this.#open.add(open);
    outgoing.on("close", () => {
      this.#open.delete(open);
      open.closed();
      onClosed();
    });
    return open;
  }

  countLive(keyId: string | undefined): number {
    return [...this.#open].filter((open) => open.live !== undefined && open.keyId === keyId).length;
  }

  keysInUse(): string[] {
    return [...new Set([...this.#open].flatMap(({ keyId }) => (keyId === undefined ? [] : [keyId])))];
  }

  /**
   * Whether an error can be written on this connection without being taken for the reply to another request: nothing is
   * open on it but an incomplete request whose reply hasn't begun.
   */
  canReportFaultOn(socket: Socket): boolean {
    return [...this.#open].every(
      ({ outgoing }) => outgoing.req.socket !== socket || !(outgoing.headersSent || outgoing.req.complete),
    );
  }

  /** Ends the replies of a revoked key. @param except the reply to the request that revoked it. */
  endRevoked(keyId: string, except?: Outgoing): void {
    for (const open of this.#open) {
      if (open.keyId === keyId && open.outgoing !== except) open.keyRevoked();
    }
  }

  /** From now on every connection closes after its current reply. */
  stop(): void {
    this.#stopping = true;
  }

  /** Waits a while for the replies to finish, then ends the event streams, then waits a while for the rest. */
  async finish(): Promise<void> {
    await this.#allClosed(shutdownTimeouts.streams);
    for (const open of this.#open) if (open.live === "text/event-stream") open.breakOff();
    await this.#allClosed(shutdownTimeouts.replies);
  }

  async #allClosed(milliseconds: number): Promise<void> {
    const closed = [...this.#open].map(
      ({ outgoing }) => new Promise<void>((resolve) => void outgoing.once("close", () => resolve())),
    );
    if (closed.length === 0) return;
    await Promise.race([Promise.all(closed), pause(milliseconds, undefined, { ref: false })]);
  }
}

/**
 * How often revoked keys are looked up, in milliseconds: `pipeline keys revoke` is another process, which only writes the
 * row. One query by primary key, and none while nothing is open.
 */
const checkMilliseconds = 2_000;

/**
 * Ends the replies of keys that another process revokes.
 * @returns a function that stops it; resolves when nothing is under way.
 */
export function watchRevokedKeys(
  { db, clock, log }: Pick<StoreDeps, "db" | "clock" | "log">,
  replies: OpenReplies,
): () => Promise<void> {
  const { stop } = repeat(clock, checkMilliseconds, async () => {
    const keyIds = replies.keysInUse();
    if (keyIds.length === 0) return;
    try {
      for (const keyId of await revokedAmong(db, keyIds)) replies.endRevoked(keyId);
    } catch (error) {
      log("error", "revoked keys not looked up", { error });
    }
  });
  return stop;
}
