import type { EventSourceMessage } from "eventsource-parser";
import { PipelineError } from "../../contract/errors.ts";
import { readEvent, type ServiceEvent } from "../../contract/event.ts";
import { parseForeignJson } from "../http/foreignJson.ts";
import { AbsentEndpoint } from "../http/replyError.ts";
import type { Service } from "../http/service.ts";
import type { ServiceClient } from "../http/serviceClient.ts";
import { growingPauses } from "../pauses.ts";
import { eventStream } from "./eventStream.ts";

/**
 * Whether what the events told last is still so. `connected` says that changes will come from now on: what happened
 * before is read once, or was told by the events that follow. From `broken` on, what is shown may be stale.
 */
export type StreamState =
  | { readonly kind: "connected" }
  | { readonly kind: "broken"; readonly error: PipelineError }
  /** The service has no events; its numbers must be asked for. */
  | { readonly kind: "absent" };

const pauseBounds = { shortest: 1000, longest: 30_000 } as const;

/**
 * Tells the events of the org as they happen (contract: "Endpoints", `GET /api/events`), over a stream that is opened
 * again after growing pauses whenever it breaks, and goes on after the last event that arrived.
 *
 * Resolves when the signal aborts, when the stream is `absent`, or after a `broken` whose error says that the key is
 * not accepted: asking again with the same key can't help.
 * @throws only what `onEvent` or `onState` throws.
 */
export async function watchEvents(
  client: ServiceClient,
  onEvent: (event: ServiceEvent) => void,
  onState: (state: StreamState) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId: string | undefined;
  let pauses = growingPauses(client.random, pauseBounds);
  while (!signal.aborted) {
    try {
      for await (const item of eventStream(client, "api/events", lastEventId, signal)) {
        if (signal.aborted) return;
        if (item.kind === "opened") {
          onState({ kind: "connected" });
          continue;
        }
        pauses = growingPauses(client.random, pauseBounds);
        lastEventId = item.message.id ?? lastEventId;
        const event = serviceEvent(client, item.message);
        if (event !== undefined) onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof PipelineError)) throw error;
      if (error instanceof AbsentEndpoint) return onState({ kind: "absent" });
      onState({ kind: "broken", error });
      if (error.type === "unauthorized" || error.type === "forbidden") return;
    }
    await client.clock.sleep(pauses.next().value, signal).catch(() => undefined);
  }
}

/** @returns undefined for an event that this version doesn't know. @throws PipelineError `breaks-contract`. */
export function serviceEvent(
  { apiKey }: Service,
  { event: name, data }: EventSourceMessage,
): ServiceEvent | undefined {
  const read = readEvent(name ?? "message", plainJson(data, apiKey));
  if (read === undefined) return undefined;
  if (read.kind === "invalid") {
    throw new PipelineError("breaks-contract", `GET /api/events, event \`${name}\`: ${read.problem}.`);
  }
  return read.value;
}

/** The same JSON with texts that are fit to be shown; what is no JSON is left to be complained about. */
function plainJson(data: string, apiKey: string): string {
  try {
    return JSON.stringify(parseForeignJson(data, apiKey));
  } catch {
    return data;
  }
}
