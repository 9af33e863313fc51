import type { EventSourceMessage } from "eventsource-parser";
import type { PipelineError } from "../../contract/errors.ts";
import { type LogEntry, logEntrySchema } from "../../contract/log.ts";
import { type CancelReply, cancelReplySchema } from "../../contract/run.ts";
import type { ServiceClient } from "../service/client.ts";
import { findAgain, type Reconnect } from "../service/failedRequest.ts";
import { foreignText, withoutSecret } from "../service/foreignText.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { segment } from "../service/request.ts";
import { growingPauses } from "../service/retry.ts";
import { eventStream, eventValue } from "./events.ts";

export interface FollowLogOptions {
  /** Only entries after this sequence number. */
  readonly after?: number;
  /** Whether to continue until the run has stopped, rather than end with the entries so far. */
  readonly follow: boolean;
  readonly reconnect?: Reconnect;
  readonly onOpened?: () => void;
  /** Called when the connection breaks, before each attempt to restore it. */
  readonly onBroken?: (error: PipelineError) => void;
  /** Called with the first and last number of missing entries, which should never happen; without it, gaps are ignored. */
  readonly onGap?: (first: number, last: number) => void;
}

const pauseBounds = { shortest: 1000, longest: 10_000 } as const;
/** Failures in a row before the service counts as out of reach: about a minute. */
const faultsForgiven = 10;
/** A connection that lasted this long counts as good even without entries. */
const goodAfterMilliseconds = 10_000;

/** Takes an entry; the next one is read once its result resolves. */
type OnEntry = (entry: LogEntry) => unknown;

/**
 * Passes on the entries of a run's log in order, each once (contract: "Endpoints", `GET /api/runs/{id}/log`). A broken connection
 * is restored after growing pauses, and the log continues after the last entry.
 *
 * An entry's text is the program's output, escape sequences included: a face lets only colours through to a terminal. The API key
 * is masked in each text; a face that removes more, or joins entries, must mask it again.
 *
 * @returns the run's status at the log's end.
 * @throws PipelineError `AbsentEndpoint` from a service without logs; `not-found` if there is no such run or its log was removed;
 * `out-of-reach` if the service stays away; `breaks-contract`; the signal's reason when it aborts.
 */
export async function followLog(
  client: ServiceClient,
  runId: string,
  options: FollowLogOptions,
  onEntry: OnEntry,
  signal: AbortSignal,
): Promise<CancelReply> {
  const reading = logReader(runId, options, onEntry);
  let service = client;
  let pauses = growingPauses(client.random, pauseBounds);
  let wasOpen = false;
  let faults = 0;
  for (;;) {
    const began = reading.lastReported();
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
        reading.lastReported() > began ||
        (openedAt !== undefined && service.clock.monotonic() - openedAt >= goodAfterMilliseconds);
      if (wasGood) {
        faults = 0;
        pauses = growingPauses(client.random, pauseBounds);
      }
      faults += 1;
      if (!isForgiven(error, wasOpen, faults)) throw error;
      options.onBroken?.(error);
      await service.clock.sleep(pauses.next().value, signal);
    }
    service = await findAgain(service, options.reconnect, signal);
  }
}

/** Whether another attempt may help. A service that was never reached gets fewer. */
function isForgiven(error: unknown, wasOpen: boolean, faults: number): error is OutOfReach {
  if (!(error instanceof OutOfReach) || error.fault === "tls" || error.fault === "proxy") return false;
  if (wasOpen) return faults <= faultsForgiven;
  return (error.fault === "dropped" || error.fault === "unavailable") && faults <= 3;
}

/** What reads a log on from where it has got. */
function logReader(runId: string, { after = 0, follow, onGap }: FollowLogOptions, onEntry: OnEntry) {
  let lastReported = after;
  const path = `api/runs/${segment("id of a run", runId)}/log${follow ? "" : "?follow=false"}`;
  const report = async (entry: LogEntry): Promise<void> => {
    const due = lastReported + 1;
    // A service may repeat the last entry.
    if (entry.sequence < due) return;
    if (entry.sequence > due) onGap?.(due, entry.sequence - 1);
    lastReported = entry.sequence;
    await onEntry(entry);
  };
  return {
    lastReported: () => lastReported,
    /** Reads over one connection to the end of the log. @throws if the connection breaks before that. */
    async readOn(service: ServiceClient, onOpened: () => void, signal: AbortSignal): Promise<CancelReply> {
      const headers = lastReported === 0 ? {} : { "last-event-id": String(lastReported) };
      for await (const item of eventStream(service, path, "own, of something", headers, signal)) {
        if (item.kind === "opened") onOpened();
        else if (item.message.event === "log") await report(entryOf(service, item.message));
        else if (item.message.event === "end") return endOf(service, item.message);
      }
      throw new OutOfReach("dropped", `${service.baseUrl.host} ended the log before its end.`, {});
    },
  };
}

const path = "/api/runs/{id}/log";

function entryOf({ apiKey }: ServiceClient, message: EventSourceMessage): LogEntry {
  const { stream, text, ...others } = eventValue(logEntrySchema, message, path);
  return { ...others, stream: foreignText(stream, apiKey), text: withoutSecret(text, apiKey) };
}

function endOf({ apiKey }: ServiceClient, message: EventSourceMessage): CancelReply {
  const { runId, status } = eventValue(cancelReplySchema, message, path);
  return { runId: foreignText(runId, apiKey), status: foreignText(status, apiKey) };
}
