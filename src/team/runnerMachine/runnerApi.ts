import { hash } from "node:crypto";
import type * as z from "zod/mini";
import { Deadline } from "../../client/service/deadline.ts";
import { exchange, readBytes, readWhole, send } from "../../client/service/exchange.ts";
import { type Origin, replyError } from "../../client/service/replyErrors.ts";
import { type Service, type ServiceCall, segment } from "../../client/service/request.ts";
import { PipelineError } from "../../contract/errors.ts";
import {
  type HeartbeatReply,
  heartbeatReplySchema,
  type RunnerMessage,
  runnerReplySchema,
  type Work,
  workReplySchema,
} from "../../contract/runners.ts";
import { largestSnapshot, snapshotSeconds } from "../../contract/service.ts";
import { fromWire, toWire } from "../../contract/wire.ts";

/** How much longer than it may hold a request the service may take to reply, in seconds. */
const heldGrace = { work: 10, heartbeat: 1.5 } as const;
const messagesSeconds = 10;
/** The pauses between two attempts of the same request, in milliseconds. */
export const retryPauses = { shortest: 200, longest: 2_000 } as const;

/**
 * The endpoints of a service that are a runner's (contract: "Many machines"), one method each. Every method throws a
 * PipelineError, as `ServiceClient` does, or the signal's reason. Texts come as they were sent, not made safe to show.
 */
export class RunnerApi {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** @returns the runner's id. */
  async register(label: string, signal: AbortSignal): Promise<string> {
    const call: ServiceCall = { method: "POST", path: "api/runners", body: toWire({ label }) };
    return (await this.#json(call, runnerReplySchema, signal)).runnerId;
  }

  /** @param runs those that the runner works on. @returns undefined when there is nothing to do yet. */
  async work(
    runnerId: string,
    runs: readonly string[],
    waitSeconds: number,
    signal: AbortSignal,
  ): Promise<Work | undefined> {
    const call = held(`api/runners/${segment("id of a runner", runnerId)}/work`, runs, waitSeconds, "work");
    const reply = await this.#reply(call, "own", signal);
    return reply.status === 204 ? undefined : read(call, reply.body, workReplySchema);
  }

  async heartbeat(
    runnerId: string,
    runs: readonly string[],
    waitSeconds: number,
    signal: AbortSignal,
  ): Promise<HeartbeatReply> {
    const path = `api/runners/${segment("id of a runner", runnerId)}/heartbeat`;
    return this.#json(held(path, runs, waitSeconds, "heartbeat"), heartbeatReplySchema, signal);
  }

  /** @param first the number of the first message. */
  async sendMessages(
    { runId, runnerId }: { readonly runId: string; readonly runnerId: string },
    first: number,
    messages: readonly RunnerMessage[],
    signal: AbortSignal,
  ): Promise<void> {
    const path = `api/runs/${segment("id of a run", runId)}/messages`;
    const body = toWire({ runnerId, first, messages });
    const call: ServiceCall = { method: "POST", path, body, timeoutSeconds: messagesSeconds };
    await this.#reply(call, "own, of something", signal);
  }

  async putArtifact(
    { runId, runnerId }: { readonly runId: string; readonly runnerId: string },
    file: string,
    content: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<void> {
    const call: ServiceCall = {
      method: "PUT",
      path: `api/runs/${segment("id of a run", runId)}/artifact-contents/${segment("name of a file", file)}`,
      query: new URLSearchParams({ "runner-id": runnerId }),
      content,
      timeoutSeconds: snapshotSeconds,
    };
    await this.#reply(call, "own, of something", signal);
  }

  /**
   * The files of a run's project, as they were uploaded.
   * @param digest the SHA-256 that they must have, in hex.
   */
  async snapshot(
    { runId, runnerId }: { readonly runId: string; readonly runnerId: string },
    digest: string,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const service = this.#service;
    const call: ServiceCall = {
      method: "GET",
      path: `api/runs/${segment("id of a run", runId)}/snapshot`,
      query: new URLSearchParams({ "runner-id": runnerId }),
      headers: { accept: "*/*" },
    };
    using deadline = new Deadline(service.clock, signal, snapshotSeconds);
    const response = await send(service, call, deadline.signal, signal);
    if (response.status !== 200) {
      const reply = await readWhole(service, call, response, signal);
      throw replyError(service, call, reply, "own, of something");
    }
    const bytes = await readBytes(service, response, largestSnapshot, signal);
    if (bytes !== undefined && hash("sha256", bytes) === digest) return bytes;
    throw new PipelineError("breaks-contract", "The project's files came other than they were uploaded.");
  }

  async #json<T>(call: ServiceCall, schema: z.ZodMiniType<T>, signal: AbortSignal): Promise<T> {
    return read(call, (await this.#reply(call, "own", signal)).body, schema);
  }

  async #reply(call: ServiceCall, origin: Origin, signal: AbortSignal) {
    const reply = await exchange(this.#service, call, signal);
    if (reply.status >= 400) throw replyError(this.#service, call, reply, origin);
    return reply;
  }
}

function held(
  path: string,
  runs: readonly string[],
  waitSeconds: number,
  kind: keyof typeof heldGrace,
): ServiceCall {
  return {
    method: "POST",
    path,
    body: toWire({ runs }),
    headers: waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {},
    timeoutSeconds: waitSeconds + heldGrace[kind],
  };
}

/** Not by `readReply`, which changes texts: a pipeline's has to stay as it is. */
function read<T>({ method, path }: ServiceCall, body: string, schema: z.ZodMiniType<T>): T {
  const broken = (problem: string, cause?: unknown) =>
    new PipelineError("breaks-contract", `${method} /${path}: ${problem}.`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw broken("the answer is not JSON", error);
  }
  const parsed = fromWire(schema, value);
  if (parsed.kind === "invalid") throw broken(parsed.problem);
  return parsed.value;
}
