import type { EventSourceMessage } from "eventsource-parser";
import { PipelineError } from "../../contract/errors.ts";
import { readEvent, type ServiceEvent } from "../../contract/service.ts";
import { parseForeignJson } from "../http/foreignText.ts";
import { OutOfReach } from "../http/outOfReach.ts";
import type { Service } from "../http/service.ts";
import { eventStream } from "./eventStream.ts";

/**
 * Tells the events of the org as they happen (contract: "Endpoints", `GET /api/events`) over one stream, until that ends.
 * What happened before is to be read once the stream has opened.
 *
 * @throws PipelineError as `eventStream`, `breaks-contract` for an event that can't be read; the signal's reason; what
 * `onOpened` and `onEvent` throw.
 */
export async function watchEvents(
  service: Service,
  onOpened: () => void,
  onEvent: (event: ServiceEvent) => void,
  signal: AbortSignal,
): Promise<never> {
  for await (const item of eventStream(service, "api/events", "ours", undefined, signal)) {
    signal.throwIfAborted();
    if (item.kind === "opened") {
      onOpened();
      continue;
    }
    const event = serviceEvent(service, item.message);
    if (event !== undefined) onEvent(event);
  }
  throw new OutOfReach("dropped", `${service.baseUrl.host} ended the stream of events.`, {});
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
