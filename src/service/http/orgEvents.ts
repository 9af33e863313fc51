import type { Org } from "../../contract/org.ts";
import { isActive } from "../../contract/runStatus.ts";
import { toWire } from "../../contract/wire.ts";
import { repeat } from "../../machine/clock.ts";
import type { Admission } from "../admission/admission.ts";
import type { OrgQueue } from "../admission/queue.ts";
import type { BusEvent } from "../store/eventBus.ts";
import { readOrg } from "../store/orgs.ts";
import { changedRuns, lastChanges } from "../store/runChanges.ts";
import { readRun } from "../store/runs.ts";
import type { StoreDeps } from "../store/storeDeps.ts";

/** The most runs that are read at once, since a stalled reader keeps their events in memory. */
const batchSize = 10;
/**
 * A run's event holds all its steps, and each step changes the run twice, so a thousand short steps would keep the service
 * and its readers busy. Hence an active run's event longer than this, in characters, is followed by a pause, in milliseconds.
 * The pause is shorter than the time that event streams have at a shutdown.
 */
const largeEvent = { length: 20_000, pause: 200 } as const;
/** How many orgs one statement checks. */
const orgsAtOnce = 100;
/** How often the server looks for changes that no event announced, in milliseconds. */
const checkMilliseconds = 15_000;

export interface OrgEventsDeps extends Pick<StoreDeps, "db" | "clock" | "bus" | "log"> {
  readonly admission: Pick<Admission, "queue">;
}

export interface OrgReader {
  /** The sequence number of the last change that it has read; infinite until it has begun. */
  readonly sent: number;
  hear(change: BusEvent): void;
}

/** The events of each org that has readers. */
export class OrgEvents {
  readonly #deps: OrgEventsDeps;
  readonly #feeds = new Map<string, OrgFeed>();
  /** Undefined while there are no readers. */
  #checking: ReturnType<typeof repeat> | undefined;

  constructor(deps: OrgEventsDeps) {
    this.#deps = deps;
  }

  /** Adds a reader of an org, which hears of each change until it leaves. */
  join(orgId: string, reader: OrgReader): OrgFeed {
    const feed = this.#feeds.get(orgId) ?? new OrgFeed(orgId, this.#deps);
    this.#feeds.set(orgId, feed);
    feed.add(reader);
    this.#checking ??= repeat(this.#deps.clock, checkMilliseconds, () => this.#check());
    return feed;
  }

  leave(orgId: string, reader: OrgReader): void {
    if (this.#feeds.get(orgId)?.remove(reader) === 0) this.#feeds.delete(orgId);
    if (this.#feeds.size > 0) return;
    void this.#checking?.stop();
    this.#checking = undefined;
  }

  /**
   * Looks for changes that no event announced: the server that made them may have died before it could. One statement checks
   * many orgs, since a service may have readers in very many.
   */
  async #check(): Promise<void> {
    const { db, log } = this.#deps;
    const orgIds = [...this.#feeds.keys()];
    try {
      while (orgIds.length > 0) {
        for (const { id, sequence } of await lastChanges(db, orgIds.splice(0, orgsAtOnce)))
          this.#feeds.get(id)?.ringUntil(sequence);
      }
    } catch (error) {
      log("warn", "changes that nobody has rung for could not be looked for", { error });
    }
  }
}

/**
 * The events of an org, for as long as it has readers. A reader asks for events when it can take more, so it delays nobody.
 * Each event is made once for all readers: what was read is kept until the next change.
 */
export class OrgFeed {
  readonly #orgId: string;
  readonly #deps: OrgEventsDeps;
  readonly #readers = new Set<OrgReader>();
  readonly #unsubscribe: () => void;
  #org: Promise<Org> | undefined;
  #queue: Promise<OrgQueue> | undefined;
  #runs: { readonly after: number; readonly events: Promise<readonly RunEvent[]> } | undefined;
  /** Ends the pause after a large event; undefined when there is none. */
  #endPause: (() => void) | undefined;

  constructor(orgId: string, deps: OrgEventsDeps) {
    this.#orgId = orgId;
    this.#deps = deps;
    this.#unsubscribe = deps.bus.subscribe(orgId, (change) => {
      // A run has begun or ended, and somebody may be waiting for that.
      if (change.kind === "org") this.#cancelPause();
      this.#ring(this.#readers, change);
    });
  }

  add(reader: OrgReader): void {
    // Reads anew, in case the last read failed.
    this.#forget();
    this.#readers.add(reader);
  }

  /** @returns how many readers are left. */
  remove(reader: OrgReader): number {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) {
      this.#unsubscribe();
      this.#cancelPause();
    }
    return this.#readers.size;
  }

  /** @param last the sequence number of the org's last change, which may not have been announced. */
  ringUntil(last: number): void {
    const behind = [...this.#readers].filter(({ sent }) => sent < last);
    if (behind.length > 0) this.#ring(behind, { kind: "org" });
  }

  #ring(readers: Iterable<OrgReader>, change: BusEvent): void {
    this.#forget();
    for (const reader of readers) reader.hear(change);
  }

  #forget(): void {
    this.#org = undefined;
    this.#queue = undefined;
    this.#runs = undefined;
  }

  /** @param keyId of the reader, which is the event's `actor`. */
  async org(keyId: string): Promise<string> {
    const { db, clock } = this.#deps;
    this.#org ??= readOrg(db, { orgId: this.#orgId, keyId }, clock.now());
    return eventOf("org", { ...(await this.#org), actor: keyId });
  }

  /** Shared only while it is being read: when a server dies, the queue changes without an event. */
  queue(): Promise<OrgQueue> {
    if (this.#queue !== undefined) return this.#queue;
    const reading = this.#deps.admission.queue(this.#orgId).finally(() => {
      if (this.#queue === reading) this.#queue = undefined;
    });
    this.#queue = reading;
    return reading;
  }

  /** The first runs changed after a sequence number, the oldest change first. None in a pause, whose end announces them. */
  async runsAfter(after: number): Promise<readonly RunEvent[]> {
    if (this.#runs?.after !== after) {
      if (this.#endPause !== undefined) return [];
      this.#runs = { after, events: this.#readRuns(after) };
    }
    return this.#runs.events;
  }

  #cancelPause(): void {
    this.#endPause?.();
    this.#endPause = undefined;
  }

  #pauseAfter(runId: string): void {
    if (this.#readers.size === 0) return;
    this.#endPause ??= this.#deps.clock.after(largeEvent.pause, () => {
      this.#endPause = undefined;
      this.#ring(this.#readers, { kind: "run", runId });
    });
  }

  async #readRuns(after: number): Promise<readonly RunEvent[]> {
    const events: RunEvent[] = [];
    for (const { runId, changed } of await changedRuns(this.#deps.db, this.#orgId, after, batchSize)) {
      events.push({ changed, text: withId(await this.run(runId), changed) });
    }
    return events;
  }

  /** @returns an empty text for a run that is gone. */
  async run(runId: string): Promise<string> {
    const run = await readRun(this.#deps.db, { orgId: this.#orgId }, runId);
    if (run === undefined) return "";
    const text = eventOf("run", run);
    if (isActive(run) && text.length > largeEvent.length) this.#pauseAfter(runId);
    return text;
  }
}

interface RunEvent {
  /** The sequence number of the change. */
  readonly changed: number;
  /** The server-sent event. */
  readonly text: string;
}

function eventOf(name: "org" | "run", value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(toWire(value))}\n\n`;
}

/** Readers keep an id even if it comes without an event (HTML, "server-sent events"). */
export function withId(event: string, id: number | undefined): string {
  if (id === undefined) return event;
  return `id: ${id}\n${event === "" ? "\n" : event}`;
}
