import { createParser, type EventSourceMessage } from "eventsource-parser";
import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { type Org, orgSchema, type Queue, queueSchema } from "../../contract/org.ts";
import { type Run, runSchema } from "../../contract/run.ts";
import { fromWire } from "../../contract/wire.ts";
import { Deadline } from "../service/deadline.ts";
import { asPipelineError, readWhole, send } from "../service/exchange.ts";
import { parseForeignJson } from "../service/foreignText.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { type Origin, replyError } from "../service/replyErrors.ts";
import { labelOf, type Service, type ServiceCall } from "../service/request.ts";

export type ServiceEvent =
  | { readonly kind: "org"; readonly org: Org }
  | { readonly kind: "run"; readonly run: Run };

/**
 * Passes on the org's events (contract: "Endpoints", `GET /api/events`) from one stream until it ends. Callers read the state so
 * far once the stream has opened.
 *
 * @throws PipelineError as `eventStream`, `breaks-contract` for an event that can't be read; the signal's reason; what `onOpened`
 * and `onEvent` throw.
 */
export async function watchEvents(
  service: Service,
  onOpened: () => void,
  onEvent: (event: ServiceEvent) => void,
  signal: AbortSignal,
): Promise<never> {
  for await (const item of eventStream(service, "api/events", "own", {}, signal)) {
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

/**
 * The org when its numbers change, or a run when it changes; undefined for an event that this version doesn't know.
 * @throws PipelineError `breaks-contract`.
 */
export function serviceEvent(
  { apiKey }: Pick<Service, "apiKey">,
  message: EventSourceMessage,
): ServiceEvent | undefined {
  const read = <T>(schema: z.ZodMiniType<T>): T =>
    eventValue(schema, message, "/api/events", (data) => parseForeignJson(data, apiKey));
  switch (message.event) {
    case "org":
      return { kind: "org", org: read(orgSchema) };
    case "run":
      return { kind: "run", run: read(runSchema) };
  }
  return undefined;
}

/** The value that an event carries. @param parse may make its texts safe to show. @throws PipelineError `breaks-contract`. */
export function eventValue<T>(
  schema: z.ZodMiniType<T>,
  { event, data }: EventSourceMessage,
  path: string,
  parse: (data: string) => unknown = JSON.parse,
): T {
  const broken = (problem: string) =>
    new PipelineError("breaks-contract", `GET ${path}, event \`${event}\`: ${problem}.`);
  let body: unknown;
  try {
    body = parse(data);
  } catch {
    throw broken("the data is not JSON");
  }
  const read = fromWire(schema, body);
  if (read.kind === "invalid") throw broken(read.problem);
  return read.value;
}

/**
 * Calls `onQueue` with the queue now and after each change, with the position of the start request of this idempotency key
 * (contract: "Endpoints", `GET /api/queue`), until the service ends the stream.
 * @throws PipelineError as `eventStream`, `breaks-contract` for an event that can't be read; the signal's reason.
 */
export async function watchQueue(
  service: Service,
  idempotencyKey: string,
  onQueue: (queue: Queue) => void,
  signal: AbortSignal,
): Promise<void> {
  const headers = { "idempotency-key": idempotencyKey };
  for await (const item of eventStream(service, "api/queue", "own", headers, signal)) {
    signal.throwIfAborted();
    if (item.kind === "opened" || item.message.event !== "queue") continue;
    onQueue(eventValue(queueSchema, item.message, "/api/queue"));
  }
}

/** `opened` comes first, once the service has accepted the stream. */
type StreamItem =
  | { readonly kind: "opened" }
  | { readonly kind: "message"; readonly message: EventSourceMessage };

const openWithinSeconds = 10;
/** The service sends a comment every 15 s; three missing ones end the stream. */
const longestSilenceSeconds = 45;
const largestMessage = 4 * 1024 * 1024;

/**
 * Reads a stream of server-sent events until the service ends it or the consumer stops, which closes the connection. A stream
 * that breaks, or is silent for 45 s, throws `OutOfReach`. Nothing is read while the consumer handles an item, and that time
 * doesn't count as silence.
 *
 * @param path relative to the base URL.
 * @param origin see {@link Origin}.
 * @param headers such as the `Last-Event-ID` of an earlier stream, after which the service continues.
 * @throws PipelineError as `ServiceClient` says; `AbsentEndpoint` if the service has no such stream.
 */
export async function* eventStream(
  service: Service,
  path: string,
  origin: Origin,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void> {
  const call: ServiceCall = {
    method: "GET",
    path,
    headers: { accept: "text/event-stream", ...headers },
  };
  using deadline = new Deadline(service.clock, signal, openWithinSeconds);
  const response = await send(service, call, deadline.signal, signal);
  if (response.status >= 400) {
    throw replyError(service, call, await readWhole(service, call, response, signal), origin);
  }
  const type = response.headers.get("content-type") ?? "";
  if (!type.toLowerCase().startsWith("text/event-stream") || response.body === null) {
    throw new PipelineError("breaks-contract", `${labelOf(call)}: the answer is not a stream of events.`);
  }
  deadline.disarm();
  yield { kind: "opened" };
  deadline.arm(longestSilenceSeconds);
  try {
    const decoder = new TextDecoder();
    const arrived: EventSourceMessage[] = [];
    const parser = createParser({
      maxBufferSize: largestMessage,
      onEvent: (message) => arrived.push(message),
      onError: (error) => {
        if (error.type !== "max-buffer-size-exceeded") return;
        throw new PipelineError("breaks-contract", `${labelOf(call)}: an event is larger than 4 MiB.`);
      },
    });
    for await (const chunk of response.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      deadline.disarm();
      for (const message of arrived.splice(0)) yield { kind: "message", message };
      deadline.arm(longestSilenceSeconds);
    }
  } catch (error) {
    throw asPipelineError(service, error, signal);
  }
}
