import { toWire } from "../../contract/wire.ts";
import { Bell } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { Runs } from "../runs/runs.ts";
import type { EventBus } from "../store/eventBus.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { changedRuns, lastChange, lastChanges } from "../store/runChanges.ts";
import { readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";

/** How much may wait for a reader before it is cut off, in characters. */
const mostUnsent = 1024 * 1024;
const batchSize = 100;
/** How often the server looks for changes that nobody has rung for, in milliseconds. */
const checkMilliseconds = 15_000;

export interface OrgEventsDeps {
  readonly db: Database;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly bus: EventBus;
  readonly runs: Pick<Runs, "upToDate">;
  readonly log: Log;
}

/** An event as server-sent text. */
interface SentEvent {
  /** The sequence number of the change; undefined for an event of the org, and for an unwritten change. */
  readonly id: number | undefined;
  readonly text: string;
}

/** The events of each org that has readers. Each event is made once, for all of them. */
export class OrgEvents {
  readonly #deps: OrgEventsDeps;
  readonly #feeds = new Map<string, OrgFeed>();
  /** While there are readers. */
  #cancelCheck: (() => void) | undefined;

  constructor(deps: OrgEventsDeps) {
    this.#deps = deps;
  }

  /**
   * Adds a reader of the caller's org until it is disposed.
   * @param cutOff called when the reader gets no more events: too many wait for it, or they could not be read.
   */
  join({ orgId, keyId }: Caller, cutOff: (why: string) => void): OrgReader {
    const feed = this.#feeds.get(orgId) ?? new OrgFeed(orgId, this.#deps);
    this.#feeds.set(orgId, feed);
    if (this.#cancelCheck === undefined) this.#checkLater();
    const leave = () => {
      feed.readers.delete(reader);
      if (feed.readers.size > 0 || this.#feeds.get(orgId) !== feed) return;
      feed.stop();
      this.#feeds.delete(orgId);
      if (this.#feeds.size > 0) return;
      this.#cancelCheck?.();
      this.#cancelCheck = undefined;
    };
    const reader = new OrgReader(keyId, feed, cutOff, leave);
    feed.readers.add(reader);
    return reader;
  }

  #checkLater(): void {
    this.#cancelCheck = this.#deps.clock.after(checkMilliseconds, () => {
      this.#checkLater();
      void this.#check();
    });
  }

  /**
   * Looks for changes that nobody has rung for: the server that made them may have died before it could. All orgs together,
   * since readers are what a service has most of.
   */
  async #check(): Promise<void> {
    const { db, log } = this.#deps;
    const orgIds = [...this.#feeds.keys()];
    try {
      while (orgIds.length > 0) {
        for (const { id, sequence } of await lastChanges(db, orgIds.splice(0, batchSize)))
          this.#feeds.get(id)?.sendUntil(sequence);
      }
    } catch (error) {
      log("warn", "changes that nobody has rung for could not be looked for", { error });
    }
  }
}

/** A reader of an org's events, and the events that wait for it. */
export class OrgReader implements Disposable {
  readonly keyId: string;
  /** Resolves when the reader gets every change after the last one of that moment. */
  readonly began: Promise<void>;
  /** Rung when an event waits. */
  readonly bell = new Bell();
  readonly #cutOff: (why: string) => void;
  readonly #leave: () => void;
  #unsent: SentEvent[] = [];
  #length = 0;

  constructor(
    keyId: string,
    { began }: Pick<OrgFeed, "began">,
    cutOff: (why: string) => void,
    leave: () => void,
  ) {
    this.keyId = keyId;
    this.began = began;
    this.#cutOff = cutOff;
    this.#leave = leave;
  }

  push(event: SentEvent): void {
    this.#unsent.push(event);
    this.#length += event.text.length;
    if (this.#length > mostUnsent) this.cutOff("it reads too slowly");
    else this.bell.ring();
  }

  /** The next event, without the changes up to the sequence number `sent`. */
  take(sent: number): SentEvent | undefined {
    for (;;) {
      const event = this.#unsent.shift();
      if (event === undefined) return undefined;
      this.#length -= event.text.length;
      if (event.id === undefined || event.id > sent) return event;
    }
  }

  cutOff(why: string): void {
    this[Symbol.dispose]();
    this.#cutOff(why);
  }

  [Symbol.dispose](): void {
    this.#unsent = [];
    this.#leave();
  }
}

/** The events of one org, while it has readers. */
class OrgFeed {
  readonly readers = new Set<OrgReader>();
  readonly began: Promise<void>;
  readonly stop: () => void;
  readonly #orgId: string;
  readonly #deps: OrgEventsDeps;
  readonly #unwritten = new Set<string>();
  #orgChanged = false;
  /** Whether what is found has no ring of its own. */
  #isUnrung = false;
  #sent = 0;
  #sending: Promise<void> | undefined;
  #again = false;

  constructor(orgId: string, deps: OrgEventsDeps) {
    this.#orgId = orgId;
    this.#deps = deps;
    this.stop = deps.bus.subscribe(orgId, (change) => {
      if (change.kind === "org") this.#orgChanged = true;
      else if (change.kind === "unwritten-run") this.#unwritten.add(change.runId);
      this.#send();
    });
    this.began = lastChange(deps.db, orgId).then((last) => {
      this.#sent = last;
    });
    // Each reader gets the error where it awaits `began`.
    this.began.catch(() => {});
  }

  /** @param last the sequence number of the org's last change, of which there may have been no ring. */
  sendUntil(last: number): void {
    if (last <= this.#sent) return;
    this.#isUnrung = true;
    this.#send();
  }

  #send(): void {
    this.#again = true;
    this.#sending ??= this.#sendEvents()
      .catch((error: unknown) => {
        this.#deps.log("error", "the events of an org could not be read", { orgId: this.#orgId, error });
        for (const reader of [...this.readers]) reader.cutOff("the events could not be read");
      })
      .finally(() => {
        this.#sending = undefined;
        if (this.#again && this.readers.size > 0) this.#send();
      });
  }

  async #sendEvents(): Promise<void> {
    await this.began;
    while (this.#again && this.readers.size > 0) {
      this.#again = false;
      if (this.#orgChanged) await this.#sendOrg();
      const changed = await changedRuns(this.#deps.db, this.#orgId, this.#sent, batchSize);
      if (this.#isUnrung && changed.length > 0) await this.#sendOrg();
      this.#isUnrung = false;
      for (const run of changed) {
        this.#sent = run.changed;
        this.#sendToAll(await runEvent(this.#orgId, run.runId, this.#deps), run.changed);
      }
      for (const runId of this.#unwritten) {
        this.#unwritten.delete(runId);
        this.#sendToAll(await runEvent(this.#orgId, runId, this.#deps), undefined);
      }
      this.#again ||= changed.length > 0;
    }
  }

  /** An org's `actor` is the reader's key, so there is one event a key. */
  async #sendOrg(): Promise<void> {
    this.#orgChanged = false;
    const texts = new Map<string, string>();
    for (const reader of this.readers) {
      const text = texts.get(reader.keyId) ?? (await orgEvent(this.#orgId, reader.keyId, this.#deps));
      texts.set(reader.keyId, text);
      reader.push({ id: undefined, text });
    }
  }

  #sendToAll(text: string, id: number | undefined): void {
    const event = { id, text: withId(text, id) };
    for (const reader of [...this.readers]) reader.push(event);
  }
}

export async function orgEvent(
  orgId: string,
  keyId: string,
  { db, clock }: Pick<OrgEventsDeps, "db" | "clock">,
): Promise<string> {
  return eventOf("org", await readOrg(db, { orgId, keyId }, clock.now()));
}

/** @returns an empty text for a run that is gone. */
export async function runEvent(
  orgId: string,
  runId: string,
  { db, runs }: Pick<OrgEventsDeps, "db" | "runs">,
): Promise<string> {
  const run = await readRun(db, { orgId }, runId);
  return run === undefined ? "" : eventOf("run", runs.upToDate(run));
}

function eventOf(name: "org" | "run", value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(toWire(value))}\n\n`;
}

/** An id without an event counts for readers too (HTML, "server-sent events"). */
export function withId(event: string, id: number | undefined): string {
  if (id === undefined) return event;
  return `id: ${id}\n${event === "" ? "\n" : event}`;
}
