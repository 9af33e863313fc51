import type { EventSourceMessage } from "eventsource-parser";
import { PipelineError } from "../../contract/errors.ts";
import { type LogEntry, logEntrySchema } from "../../contract/log.ts";
import { type CancelReply, cancelReplySchema } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { fromWire } from "../../contract/wire.ts";
import type { ServiceClient } from "../service/client.ts";
import { Deadline, DeadlinePassed } from "../service/deadline.ts";
import { foreignText, withoutSecret } from "../service/foreignText.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { segment } from "../service/request.ts";
import { growingPauses } from "../service/retry.ts";
import { eventStream } from "./events.ts";

export interface FollowLogOptions {
  /** Only entries behind this sequence number; all when left out. */
  readonly after?: number;
  /** Whether to go on until the run has stopped; otherwise what is there now is told. */
  readonly follow: boolean;
  /** Finds the service anew after a break: this machine's own may be at another address, with another key. */
  readonly reconnect?: (signal: AbortSignal) => Promise<ServiceClient>;
  /** Told each time when the service has accepted to tell the log. */
  readonly onOpened?: () => void;
  /** Told when the connection broke, each time before it is made again. */
  readonly onBroken?: (error: PipelineError) => void;
  /**
   * Told of entries that the service left out, by the first and the last of their numbers. The contract's service has
   * no such gap; where this is left out, one is an error.
   */
  readonly onGap?: (first: number, last: number) => void;
}

const pauseBounds = { shortest: 1000, longest: 10_000 } as const;
/** How many breaks in a row are forgiven, which comes to about a minute of a service that is away. */
const faultsForgiven = 10;
/** A connection that held for so long, in milliseconds, was a good one, also when nothing came over it. */
const goodAfterMilliseconds = 10_000;
/** So long a silence, in seconds, ends what is there where a service doesn't know `follow=false`. */
const quietSeconds = 3;

/** Is told an entry; the next one is read once it is done with this one. */
type OnEntry = (entry: LogEntry) => unknown;

/**
 * Tells the entries of a run's log in their order, each once (contract: "Endpoints", `GET /api/runs/{id}/log`). A broken
 * connection is made again after growing pauses, and the log goes on behind the last entry that was told.
 *
 * An entry's text is the program's output as it was, also with what would drive a terminal: it may have colours, which a
 * face shows as it can. A face must let nothing else of it through to a terminal. Only the API key is taken out of it;
 * a face that takes out more, or joins entries, must look for the key again in what it shows.
 *
 * @returns the run's status as told at the log's end; of a run in work, undefined where the service doesn't tell.
 * @throws PipelineError `AbsentEndpoint` from a service without logs; `not-found` for no such run, or a log that was
 * removed; `out-of-reach` when the service stays away; `breaks-contract`; the signal's reason when it aborts.
 */
export async function followLog(
  client: ServiceClient,
  runId: string,
  options: FollowLogOptions,
  onEntry: OnEntry,
  signal: AbortSignal,
): Promise<CancelReply | undefined> {
  const reading = new Reading(runId, options, onEntry);
  let service = client;
  let pauses = growingPauses(client.random, pauseBounds);
  let wasOpen = false;
  let faults = 0;
  for (;;) {
    const began = reading.told;
    let openedAt: number | undefined;
    try {
      return await reading.readOn(
        service,
        () => {
          openedAt = service.clock.monotonic();
          options.onOpened?.();
        },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      wasOpen ||= openedAt !== undefined;
      const wasGood =
        reading.told > began ||
        (openedAt !== undefined && service.clock.monotonic() - openedAt >= goodAfterMilliseconds);
      if (wasGood) {
        faults = 0;
        pauses = growingPauses(client.random, pauseBounds);
      }
      faults += 1;
      if (!isForgiven(error, wasOpen, faults, options)) throw error;
      options.onBroken?.(error);
      await service.clock.sleep(pauses.next().value, signal);
    }
    service = await findAgain(service, options, signal);
  }
}

/** What may be over at the next attempt. A service that was never reached gets fewer. */
function isForgiven(
  error: unknown,
  wasOpen: boolean,
  faults: number,
  { reconnect }: FollowLogOptions,
): error is PipelineError {
  if (!(error instanceof PipelineError)) return false;
  // This machine's service has a new key after each start, often at the same address.
  if (error.type === "unauthorized") return wasOpen && reconnect !== undefined && faults <= 2;
  if (!(error instanceof OutOfReach) || error.fault === "tls" || error.fault === "proxy") return false;
  if (wasOpen) return faults <= faultsForgiven;
  return (error.fault === "dropped" || error.fault === "unavailable") && faults <= 3;
}

async function findAgain(
  service: ServiceClient,
  { reconnect }: FollowLogOptions,
  signal: AbortSignal,
): Promise<ServiceClient> {
  if (reconnect === undefined) return service;
  try {
    return await reconnect(signal);
  } catch (error) {
    // It counts as one more break when the old address brings nothing either.
    if (error instanceof PipelineError && error.type === "out-of-reach") return service;
    throw error;
  }
}

/** How far a log has been read. */
class Reading {
  /** The number of the last entry that was told. */
  told: number;
  readonly #runId: string;
  readonly #options: FollowLogOptions;
  readonly #onEntry: OnEntry;
  #isBounded: boolean;

  constructor(runId: string, options: FollowLogOptions, onEntry: OnEntry) {
    this.told = options.after ?? 0;
    this.#runId = runId;
    this.#options = options;
    this.#onEntry = onEntry;
    this.#isBounded = !options.follow;
  }

  /** Reads on over one connection, to the end of the log; one that breaks before throws. */
  async readOn(
    service: ServiceClient,
    onOpened: () => void,
    signal: AbortSignal,
  ): Promise<CancelReply | undefined> {
    const path = `api/runs/${segment("id of a run", this.#runId)}/log${this.#options.follow ? "" : "?follow=false"}`;
    using quiet = new Deadline(service.clock, signal);
    const position = this.told === 0 ? undefined : String(this.told);
    try {
      for await (const item of eventStream(service, path, "ours, of something", position, quiet.signal)) {
        quiet.disarm();
        if (item.kind === "opened") onOpened();
        else if (item.message.event === "log") await this.#tell(entryOf(service, item.message));
        else if (item.message.event === "end") return endOf(service, item.message);
        if (this.#isBounded) quiet.arm(quietSeconds);
      }
    } catch (error) {
      if (!(error instanceof DeadlinePassed) || signal.aborted) throw error;
      const run = await service.run(this.#runId, signal);
      if (isActive(run)) return undefined;
      // Its log has an end, which must come.
      this.#isBounded = false;
    }
    throw new OutOfReach("dropped", `${service.baseUrl.host} ended the log before its end.`, {});
  }

  async #tell(entry: LogEntry): Promise<void> {
    const due = this.told + 1;
    // Told before: a service may begin with the entry that a reader had last.
    if (entry.sequence < due) return;
    if (entry.sequence > due) {
      const { onGap } = this.#options;
      if (onGap === undefined) {
        throw broken(`entry ${entry.sequence} came where ${due} was due`);
      }
      onGap(due, entry.sequence - 1);
    }
    this.told = entry.sequence;
    await this.#onEntry(entry);
  }
}

function entryOf({ apiKey }: ServiceClient, { data }: EventSourceMessage): LogEntry {
  const read = fromWire(logEntrySchema, jsonOf(data));
  if (read.kind === "invalid") throw broken(`event \`log\`: ${read.problem}`);
  const { stream, text, ...others } = read.value;
  return { ...others, stream: foreignText(stream, apiKey), text: withoutSecret(text, apiKey) };
}

function endOf({ apiKey }: ServiceClient, { data }: EventSourceMessage): CancelReply {
  const read = fromWire(cancelReplySchema, jsonOf(data));
  if (read.kind === "invalid") throw broken(`event \`end\`: ${read.problem}`);
  const { runId, status } = read.value;
  return { runId: foreignText(runId, apiKey), status: foreignText(status, apiKey) };
}

function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw broken("the data of an event is not JSON");
  }
}

function broken(problem: string): PipelineError {
  return new PipelineError("breaks-contract", `GET /api/runs/{id}/log: ${problem}.`);
}
