import { PipelineError } from "../../contract/errors.ts";
import { type Queue, queueSchema } from "../../contract/queue.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Service } from "../service/request.ts";
import { eventStream } from "./events.ts";

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
    onQueue(readQueue(item.message.data));
  }
}

function readQueue(data: string): Queue {
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch (cause) {
    throw new PipelineError("breaks-contract", "GET /api/queue: the data of an event is not JSON.", {
      cause,
    });
  }
  const queue = fromWire(queueSchema, body);
  if (queue.kind === "valid") return queue.value;
  throw new PipelineError("breaks-contract", `GET /api/queue: ${queue.problem}.`);
}
