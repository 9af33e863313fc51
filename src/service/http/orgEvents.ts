import type { Clock } from "../../contract/clock.ts";
import { toWire } from "../../contract/wire.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { changedRuns, lastChange } from "../store/runChanges.ts";
import { readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import { Bell } from "./liveReply.ts";

/** How much may wait for a reader that takes nothing, in characters, before it is cut off. */
const mostUnsent = 1024 * 1024;
const atOnce = 100;

export interface OrgEventsDeps {
  readonly db: Database;
  readonly clock: Pick<Clock, "now">;
  readonly bus: EventBus;
  readonly runs: Pick<ActiveRuns, "upToDate">;
  readonly log: Log;
}

/** An event as it is sent. */
interface OrgEvent {
  /** The number of the change that it tells of; undefined for what has none. */
  readonly id: number | undefined;
  readonly text: string;
}

/** The events of each org that somebody reads. Each is read and written out once, for all who read it. */
export class OrgEvents {
  readonly #deps: OrgEventsDeps;
  readonly #feeds = new Map<string, OrgFeed>();

  constructor(deps: OrgEventsDeps) {
    this.#deps = deps;
  }

  /**
   * From now on the caller is told of each change in its org, until the reader is disposed of.
   * @param cutOff called when the reader can't be told any more: too much waits for it, or the events could not be read.
   */
  join({ orgId, keyId }: Caller, cutOff: (why: string) => void): OrgReader {
    const feed = this.#feeds.get(orgId) ?? new OrgFeed(orgId, this.#deps);
    this.#feeds.set(orgId, feed);
    const reader = new OrgReader(keyId, feed.began, cutOff, () => {
      feed.readers.delete(reader);
      if (feed.readers.size > 0 || this.#feeds.get(orgId) !== feed) return;
      feed.stop();
      this.#feeds.delete(orgId);
    });
    feed.readers.add(reader);
    return reader;
  }
}

/** One who reads an org's events, and what it has not taken yet. */
export class OrgReader implements Disposable {
  readonly keyId: string;
  /** Resolves when every change is told that has a higher number than the last one at that moment. */
  readonly began: Promise<void>;
  /** Rung when there is something to take. */
  readonly bell = new Bell();
  readonly #cutOff: (why: string) => void;
  readonly #leave: () => void;
  #unsent: OrgEvent[] = [];
  #length = 0;

  constructor(keyId: string, began: Promise<void>, cutOff: (why: string) => void, leave: () => void) {
    this.keyId = keyId;
    this.began = began;
    this.#cutOff = cutOff;
    this.#leave = leave;
  }

  tell(event: OrgEvent): void {
    this.#unsent.push(event);
    this.#length += event.text.length;
    if (this.#length > mostUnsent) this.cutOff("it takes less than comes");
    else this.bell.ring();
  }

  /** The next event, passing over changes that were told with a number up to `told` already. */
  take(told: number): OrgEvent | undefined {
    for (;;) {
      const event = this.#unsent.shift();
      if (event === undefined) return undefined;
      this.#length -= event.text.length;
      if (event.id === undefined || event.id > told) return event;
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

/** The events of one org, for as long as somebody reads them. */
class OrgFeed {
  readonly readers = new Set<OrgReader>();
  readonly began: Promise<void>;
  readonly stop: () => void;
  readonly #orgId: string;
  readonly #deps: OrgEventsDeps;
  readonly #unwritten = new Set<string>();
  #orgChanged = false;
  #told = 0;
  #telling: Promise<void> | undefined;
  #again = false;

  constructor(orgId: string, deps: OrgEventsDeps) {
    this.#orgId = orgId;
    this.#deps = deps;
    this.stop = deps.bus.subscribe(orgId, (change) => {
      if (change.kind === "org") this.#orgChanged = true;
      else if (change.kind === "unwritten-run") this.#unwritten.add(change.runId);
      this.#tell();
    });
    this.began = lastChange(deps.db, orgId).then((last) => {
      this.#told = last;
    });
    // Each reader hears of it where it waits.
    this.began.catch(() => {});
  }

  #tell(): void {
    this.#again = true;
    this.#telling ??= this.#tellAll()
      .catch((error: unknown) => {
        this.#deps.log("error", "the events of an org could not be read", { orgId: this.#orgId, error });
        for (const reader of [...this.readers]) reader.cutOff("the events could not be read");
      })
      .finally(() => {
        this.#telling = undefined;
        if (this.#again && this.readers.size > 0) this.#tell();
      });
  }

  async #tellAll(): Promise<void> {
    await this.began;
    while (this.#again && this.readers.size > 0) {
      this.#again = false;
      if (this.#orgChanged) await this.#tellOrg();
      const changed = await changedRuns(this.#deps.db, this.#orgId, this.#told, atOnce);
      for (const run of changed) {
        this.#told = run.changed;
        this.#tellAllReaders(await runEvent(this.#orgId, run.runId, this.#deps), run.changed);
      }
      for (const runId of this.#unwritten) {
        this.#unwritten.delete(runId);
        this.#tellAllReaders(await runEvent(this.#orgId, runId, this.#deps), undefined);
      }
      this.#again ||= changed.length > 0;
    }
  }

  /** The org says whose key asks, so there is one event a key. */
  async #tellOrg(): Promise<void> {
    this.#orgChanged = false;
    const texts = new Map<string, string>();
    for (const reader of this.readers) {
      const text = texts.get(reader.keyId) ?? (await orgEvent(this.#orgId, reader.keyId, this.#deps));
      texts.set(reader.keyId, text);
      reader.tell({ id: undefined, text });
    }
  }

  #tellAllReaders(text: string, id: number | undefined): void {
    const event = { id, text: withId(text, id) };
    for (const reader of [...this.readers]) reader.tell(event);
  }
}

export async function orgEvent(
  orgId: string,
  keyId: string,
  { db, clock }: Pick<OrgEventsDeps, "db" | "clock">,
): Promise<string> {
  return eventOf("org", await readOrg(db, { orgId, keyId }, clock.now()));
}

/** @returns nothing for a run that is gone. */
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

/** An id that comes without an event still counts for who reads the stream (HTML, "server-sent events"). */
export function withId(event: string, id: number | undefined): string {
  if (id === undefined) return event;
  return `id: ${id}\n${event === "" ? "\n" : event}`;
}
