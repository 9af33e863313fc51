import { type Queue, queueSchema } from "../../contract/org.ts";
import type { Service } from "../service/request.ts";
import { eventStream, eventValue } from "./events.ts";

/**
 * Tells the queue as it is and each time it changes, with the place of the start request of this idempotency key (contract:
 * "Endpoints", `GET /api/queue`), until the service ends the stream.
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
