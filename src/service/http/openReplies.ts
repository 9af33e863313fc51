import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";
import { revokedAmong } from "../store/keys.ts";
import type { Database } from "../store/tables.ts";

type Outgoing = HttpBindings["outgoing"];

/** A reply that is not whole yet, and the key that it is for. */
export class OpenReply {
  readonly outgoing: Outgoing;
  #keyId: string | undefined;
  #isEventStream = false;
  #isLive = false;
  /** Made when somebody listens: most replies are whole at once. */
  #left: AbortController | undefined;
  #isRevoked = false;

  constructor(outgoing: Outgoing) {
    this.outgoing = outgoing;
  }

  /** Undefined while nobody has signed in, and for ever where no key is needed. */
  get keyId(): string | undefined {
    return this.#keyId;
  }

  /**
   * Aborts when nobody will have this reply: the caller closes the connection before it is whole, or the key is revoked, with
   * the error to reply as the reason. At once when that was so already. Who holds a request listens to it; a stream is ended anyway.
   */
  get left(): AbortSignal {
    if (this.#left === undefined) {
      this.#left = new AbortController();
      if (this.#isRevoked) this.#left.abort(revoked());
      // By the request: a reply has no socket while one before it on the same connection is not whole.
      if (this.outgoing.destroyed || this.outgoing.req.socket.destroyed) this.closed();
    }
    return this.#left.signal;
  }

  /** Its connection is closed, or it is whole. */
  closed(): void {
    if (this.outgoing.writableFinished) return;
    this.#left?.abort(new PipelineError("out-of-reach", "The caller closed the connection."));
  }

  signedIn(keyId: string): void {
    this.#keyId = keyId;
  }

  keyRevoked(): void {
    this.#isRevoked = true;
    this.#left?.abort(revoked());
    this.cut();
  }

  /** Ends what has begun: a stream of events as such; anything else is broken off, since it must not look whole. */
  cut(): void {
    if (!this.outgoing.headersSent || this.outgoing.writableEnded) return;
    if (this.isEventStream) this.outgoing.end();
    else this.outgoing.destroy();
  }

  /** It goes on for as long as somebody listens. @param isEventStream whether it may end at any event. */
  goesLive({ isEventStream }: { readonly isEventStream: boolean }): void {
    this.#isLive = true;
    this.#isEventStream = isEventStream;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Whether it may end at any event. */
  get isEventStream(): boolean {
    return this.#isEventStream;
  }
}

function revoked(): PipelineError {
  return new PipelineError("unauthorized", "The API key was revoked.");
}

/**
 * How long streams of events may go on once the service is to end, in milliseconds, so that they tell how the last runs
 * ended; and how long the replies that have begun may take in all.
 */
const parting = { streams: 250, replies: 2_000 } as const;

/** Every reply that is not whole yet: so that a revoked key's are ended, and a service that stops finishes the rest. */
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

  /** Keeps the reply until it is whole, or its caller has left, and then calls back. */
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

  /** How many live replies are open for a key. */
  liveOf(keyId: string | undefined): number {
    return [...this.#open].filter((open) => open.isLive && open.keyId === keyId).length;
  }

  /** The keys that something is open for. */
  keysInUse(): string[] {
    return [...new Set([...this.#open].flatMap(({ keyId }) => (keyId === undefined ? [] : [keyId])))];
  }

  /**
   * Whether a word about a fault can be written on this connection without being taken for the answer to something else:
   * nothing is open on it but the request that has the fault, which isn't whole, and whose reply hasn't begun.
   */
  canTellFaultOn(socket: Socket): boolean {
    return [...this.#open].every(
      ({ outgoing }) => outgoing.req.socket !== socket || !(outgoing.headersSent || outgoing.req.complete),
    );
  }

  /** Ends what is open for a key that was revoked. @param except the reply that says so. */
  endOf(keyId: string, except?: Outgoing): void {
    for (const open of this.#open) {
      if (open.keyId === keyId && open.outgoing !== except) open.keyRevoked();
    }
  }

  /** From now on every connection ends with its reply. */
  stop(): void {
    this.#stopping = true;
  }

  /** Lets the replies end by themselves for a while, then ends the streams of events, then no longer waits for the rest. */
  async finish(): Promise<void> {
    await this.#allClosed(parting.streams);
    for (const open of this.#open) if (open.isEventStream) open.cut();
    await this.#allClosed(parting.replies);
  }

  async #allClosed(atMost: number): Promise<void> {
    const closed = [...this.#open].map(
      ({ outgoing }) => new Promise<void>((resolve) => void outgoing.once("close", () => resolve())),
    );
    if (closed.length === 0) return;
    const over = new AbortController();
    const tooLong = setTimeout(atMost, undefined, { signal: over.signal }).catch(() => {});
    await Promise.race([Promise.all(closed), tooLong]);
    over.abort();
  }
}

/**
 * How often to look, in milliseconds: `pipeline keys revoke` is another process, which writes the row and tells nobody.
 * A look is one query by primary key, and none while nothing is open.
 */
const lookEvery = 2_000;

interface EndRevokedDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly replies: OpenReplies;
  readonly log: Log;
}

/** Ends streams and held requests of keys that were revoked outside this process. @returns the way to stop looking. */
export function endRevoked({ db, clock, replies, log }: EndRevokedDeps): () => void {
  let stopped = false;
  let takeBack = () => {};
  const look = async () => {
    const keyIds = replies.keysInUse();
    try {
      for (const keyId of keyIds.length === 0 ? [] : await revokedAmong(db, keyIds)) replies.endOf(keyId);
    } catch (error) {
      if (!stopped) log("error", "revoked keys not looked for", { error });
    }
    if (!stopped) next();
  };
  const next = () => {
    takeBack = clock.after(lookEvery, () => void look());
  };
  next();
  return () => {
    stopped = true;
    takeBack();
  };
}
