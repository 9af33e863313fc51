import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { timeLimit } from "../../contract/limits.ts";
import { type Org, orgSchema } from "../../contract/org.ts";
import {
  type PipelineList,
  type Project,
  pipelineListSchema,
  projectSchema,
} from "../../contract/pipelines.ts";
import { type Refusal, readRefusal } from "../../contract/refusal.ts";
import {
  agentHeader,
  type CancelReply,
  type Changes,
  cancelReplySchema,
  changesSchema,
  type RanPipeline,
  type Run,
  type RunListPage,
  ranPipelineSchema,
  runListSchema,
  runSchema,
  type StartRequest,
} from "../../contract/run.ts";
import {
  type Health,
  handOverReplySchema,
  healthSchema,
  type Leaving,
  type ServiceState,
  type SignInLink,
  serviceStateSchema,
  signInLinkSchema,
  snapshotSchema,
  snapshotSeconds,
} from "../../contract/service.ts";
import { toWire } from "../../contract/wire.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { exchange, type Reply, readReply } from "./exchange.ts";
import { OutOfReach } from "./reachFaults.ts";
import {
  AbsentEndpoint,
  DefinitionWanted,
  type Origin,
  readStarted,
  replyError,
  retryAfterSeconds,
} from "./replyErrors.ts";
import { type Fetch, type Service, type ServiceCall, segment } from "./request.ts";
import { isRepeatable, type Retries, withRetries } from "./retry.ts";

/** The outcome of one attempt to start a run. */
export type StartAttempt =
  | { readonly kind: "started"; readonly run: Run }
  | {
      readonly kind: "refused";
      readonly refusal: Refusal;
      /** From `Retry-After`, if present. */
      readonly retryAfterSeconds: number | undefined;
      /** The service's clock (its `Date`), in milliseconds since 1970. */
      readonly servedAt: number | undefined;
    };

export interface RunsQuery {
  /** Only active runs. */
  readonly active?: boolean;
  /** Only runs of this status; not together with `active`. */
  readonly status?: string | undefined;
  /** Only runs that the caller's key started. */
  readonly mine?: boolean;
  readonly project?: string | undefined;
  /** Only runs of this pipeline. A service may ignore it and list others too. */
  readonly pipeline?: string | undefined;
  /** Only runs with these values of inputs, each as `name=value`. A service may ignore it and list others too. */
  readonly input?: readonly string[] | undefined;
  /** Only runs created at or after `since` and before `until`, in milliseconds since 1970. A service may ignore them. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Runs per page: 1 to 100. */
  readonly limit?: number;
  /** The previous page's `next`. */
  readonly after?: string | undefined;
}

export interface StartOptions {
  /** How long the service may hold the request until a slot is free; 0 asks for a reply at once. */
  readonly waitSeconds: number;
  readonly idempotencyKey: string;
  /** The coding agent that starts the run. A service may ignore it. */
  readonly agent?: string | undefined;
  /** Called when the reply begins to arrive: from then on there may be a run. */
  readonly onAnswering?: () => void;
}

export interface ServiceClientOptions
  extends Pick<Service, "baseUrl" | "apiKey" | "refusedKeyNext" | "trustNext">,
    Partial<Pick<Service, "fetch" | "clock">> {
  /** A number from 0 up to but not including 1, for the jitter of pauses. */
  readonly random?: () => number;
  /** The caller's environment for the steps. Given only for this machine's own service, and sent with each start. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /**
   * Returns the current key. Given only for this machine's own service, which has a new one each time it starts.
   * @throws OutOfReach if the service is no longer there.
   */
  readonly keyOfNow?: ((signal: AbortSignal) => Promise<string>) | undefined;
  /** Enables `withRetries` for requests that are safe to repeat; by default there is one attempt. */
  readonly retries?: Retries | undefined;
}

/** The last day whose year has four digits, as RFC 3339 requires. */
const latest = Date.UTC(9999, 11, 31);

/** How much longer than it may hold a start request the service may take to reply. */
const heldStartGraceSeconds = 15;

/**
 * The endpoints of a service, one method each (contract: "Endpoints"). Every method takes a signal whose abort closes the
 * connection and rejects with the signal's reason, and throws a PipelineError: of the service's own type and message for an error
 * reply, `AbsentEndpoint` for an endpoint that the service lacks, `OutOfReach` if no reply came, `breaks-contract` for a reply
 * that breaks the contract. No error contains the API key.
 */
export class ServiceClient implements Service {
  readonly baseUrl: URL;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly refusedKeyNext: string | undefined;
  readonly trustNext: string | undefined;
  readonly environment: Readonly<Record<string, string>> | undefined;
  readonly keyOfNow: ServiceClientOptions["keyOfNow"];
  #apiKey: string;
  readonly #retries: Retries | undefined;
  #takesInputs = false;

  /** @throws PipelineError `unauthorized` for a key that no header can carry. */
  constructor(options: ServiceClientOptions) {
    if (!/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw new PipelineError("unauthorized", "The API key is empty or has characters that no key has.");
    }
    this.baseUrl = options.baseUrl;
    this.#apiKey = options.apiKey;
    this.fetch = options.fetch ?? globalThis.fetch;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
    this.refusedKeyNext = options.refusedKeyNext;
    this.trustNext = options.trustNext;
    this.environment = options.environment;
    this.keyOfNow = options.keyOfNow;
    this.#retries = options.retries;
  }

  /** A getter, so that printing the client doesn't print the key. */
  get apiKey(): string {
    return this.#apiKey;
  }

  async renewKey(refused: string, signal: AbortSignal): Promise<boolean> {
    // Another refused request may have renewed it already.
    if (this.#apiKey === refused && this.keyOfNow) this.#apiKey = await this.keyOfNow(signal);
    return this.#apiKey !== refused;
  }

  /** The same service without retries, for callers with their own. */
  withoutRetries(): ServiceClient {
    return this.#retries === undefined ? this : new ServiceClient({ ...this, apiKey: this.#apiKey });
  }

  async org(signal: AbortSignal): Promise<Org> {
    return (await this.orgAndTime(signal)).org;
  }

  /** The org, with the service's clock (its `Date`) in milliseconds since 1970. */
  async orgAndTime(
    signal: AbortSignal,
  ): Promise<{ readonly org: Org; readonly servedAt: number | undefined }> {
    const call: ServiceCall = { method: "GET", path: "api/org" };
    const { value, servedAt } = await this.#call(call, orgSchema, "described", signal);
    return { org: value, servedAt };
  }

  /**
   * Makes one attempt to start a run. A refusal by a limit is an outcome, not an error.
   * @throws also a `LostStart` if the run was started but the reply can't be read; `not-supported` for inputs, unless the service
   * says that it accepts them: it would start the run without them.
   */
  async start(request: StartRequest, options: StartOptions, signal: AbortSignal): Promise<StartAttempt> {
    const { waitSeconds, idempotencyKey, agent, onAnswering } = options;
    if (Object.keys(request.inputs ?? {}).length > 0) await this.#requireInputs(signal);
    // Windows has variables whose names begin with `=`.
    const variables =
      this.environment && Object.entries(this.environment).filter(([name]) => /^[^=]/.test(name));
    const environment = variables?.map(([name, value]) => `${name}=${value}`);
    const call: ServiceCall = {
      method: "POST",
      path: "api/runs",
      body: toWire({ ...request, ...(environment && { environment }) }),
      headers: {
        "idempotency-key": idempotencyKey,
        ...(waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {}),
        ...(agent === undefined ? {} : { [agentHeader]: agent }),
      },
      ...(waitSeconds > 0 ? { timeoutSeconds: waitSeconds + heldStartGraceSeconds } : {}),
      onAnswering,
    };
    const reply = await exchange(this, call, signal);
    if (reply.status < 400) {
      const run = readStarted(this, call, reply);
      // A service may omit the pipeline from its reply.
      return { kind: "started", run: { ...run, pipeline: run.pipeline ?? request.pipeline } };
    }
    const refusal = readRefusal(reply, this.clock.now());
    if (refusal === undefined) {
      const error = replyError(this, call, reply, "own, of something");
      if (reply.status !== 428) throw error;
      throw new DefinitionWanted("invalid-request", error.message, { next: error.next, cause: error });
    }
    return {
      kind: "refused",
      refusal,
      retryAfterSeconds: retryAfterSeconds(reply.headers, this.clock.now()),
      servedAt: timeOf(reply),
    };
  }

  /**
   * Cancels a run. Repeatable: if the first reply was lost, a service may answer the second request with a conflict, but callers
   * count a stopped run as cancelled anyway.
   */
  async cancel(runId: string, signal: AbortSignal): Promise<CancelReply> {
    const path = `api/runs/${segment("id of a run", runId)}/cancel`;
    const call: ServiceCall = { method: "POST", path, repeatable: true };
    return (await this.#call(call, cancelReplySchema, "described", signal)).value;
  }

  /** One page of runs, newest first. */
  async runs(query: RunsQuery, signal: AbortSignal): Promise<RunListPage> {
    return (await this.runsAndTime(query, signal)).page;
  }

  /** One page of runs, with the service's clock (its `Date`) in milliseconds since 1970. */
  async runsAndTime(
    query: RunsQuery,
    signal: AbortSignal,
  ): Promise<{ readonly page: RunListPage; readonly servedAt: number | undefined }> {
    const search = new URLSearchParams();
    if (query.active) search.set("status", "in-work");
    else if (query.status !== undefined) search.set("status", query.status);
    if (query.mine) search.set("actor", "me");
    if (query.project !== undefined) search.set("project", query.project);
    if (query.pipeline !== undefined) search.set("pipeline", query.pipeline);
    for (const wanted of query.input ?? []) search.append("input", wanted);
    for (const bound of ["since", "until"] as const) {
      const time = query[bound];
      if (time !== undefined) search.set(bound, new Date(Math.min(Math.max(time, 0), latest)).toISOString());
    }
    if (query.limit !== undefined) search.set("limit", String(query.limit));
    if (query.after !== undefined) search.set("after", query.after);
    const call: ServiceCall = { method: "GET", path: "api/runs", query: search };
    const { value, servedAt } = await this.#call(call, runListSchema, "own", signal);
    return { page: value, servedAt };
  }

  run(runId: string, signal: AbortSignal): Promise<Run> {
    return this.#ofRun(runId, "", runSchema, signal);
  }

  /** A run's pipeline file and the files that it includes, as they ran. */
  ranPipeline(runId: string, signal: AbortSignal): Promise<RanPipeline> {
    return this.#ofRun(runId, "/pipeline", ranPipelineSchema, signal);
  }

  /** What changed since the previous successful run of the same pipeline. */
  changes(runId: string, signal: AbortSignal): Promise<Changes> {
    return this.#ofRun(runId, "/changes", changesSchema, signal);
  }

  /** @param project its name; undefined for every project of the org. */
  async pipelines(project: string | undefined, signal: AbortSignal): Promise<PipelineList> {
    const query = new URLSearchParams(project === undefined ? {} : { project });
    const call: ServiceCall = { method: "GET", path: "api/pipelines", query };
    const origin = project === undefined ? "own" : "own, of something";
    return (await this.#call(call, pipelineListSchema, origin, signal)).value;
  }

  /** Registers a project with the embedded service. @param root an absolute folder. */
  async putProject(name: string, root: string, signal: AbortSignal): Promise<Project> {
    const path = `api/projects/${segment("name of a project", name)}`;
    const call: ServiceCall = { method: "PUT", path, body: toWire({ root }) };
    return (await this.#call(call, projectSchema, "own", signal)).value;
  }

  /** Whether the service has a snapshot of a project's files already. @param digest its SHA-256, in hex. */
  async hasSnapshot(digest: string, signal: AbortSignal): Promise<boolean> {
    const call: ServiceCall = { method: "GET", path: `api/snapshots/${digest}` };
    try {
      await this.#call(call, snapshotSchema, "own, of something", signal);
      return true;
    } catch (error) {
      if (error instanceof PipelineError && error.type === "not-found") return false;
      throw error;
    }
  }

  async putSnapshot(digest: string, content: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void> {
    const path = `api/snapshots/${digest}`;
    const call: ServiceCall = { method: "PUT", path, content, timeoutSeconds: snapshotSeconds };
    await this.#call(call, snapshotSchema, "own", signal);
  }

  /** Asks the embedded service to hand over to a newer one. @returns when it leaves. */
  async handOver(signal: AbortSignal, timeoutSeconds: number): Promise<Leaving> {
    const call: ServiceCall = { method: "POST", path: "api/service/hand-over", timeoutSeconds };
    return (await this.#call(call, handOverReplySchema, "own", signal)).value.leaving;
  }

  /** What the embedded service is doing; undefined if it is too old to say. */
  async serviceState(signal: AbortSignal): Promise<ServiceState | undefined> {
    const call: ServiceCall = { method: "GET", path: "api/service" };
    try {
      return (await this.#call(call, serviceStateSchema, "own", signal)).value;
    } catch (error) {
      if (error instanceof AbsentEndpoint) return undefined;
      throw error;
    }
  }

  /** Ends the embedded service. @returns what it was doing, once its runs have ended. */
  async stopService(signal: AbortSignal): Promise<ServiceState> {
    const call: ServiceCall = {
      method: "POST",
      path: "api/service/stop",
      timeoutSeconds: timeLimit.atMost,
    };
    return (await this.#call(call, serviceStateSchema, "own", signal)).value;
  }

  /**
   * A URL that signs a browser in to the page with the client's key; valid once, for a minute. Its origin is the client's,
   * since a service behind a proxy may not know the address that people use.
   */
  async signInLink(signal: AbortSignal): Promise<SignInLink> {
    const call: ServiceCall = { method: "POST", path: "api/sign-in-links" };
    const { value } = await this.#call(call, signInLinkSchema, "own", signal);
    const { pathname, search } = new URL(value.url);
    return { ...value, url: `${this.baseUrl.origin}${pathname}${search}` };
  }

  /** Sends no key. @param timeoutSeconds of the reply; 10 by default. */
  async health(signal: AbortSignal, timeoutSeconds?: number): Promise<Health> {
    const call: ServiceCall = {
      method: "GET",
      path: "healthz",
      access: "open",
      ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    };
    return (await this.#call(call, healthSchema, "own", signal)).value;
  }

  async #ofRun<T>(runId: string, what: string, schema: z.ZodMiniType<T>, signal: AbortSignal): Promise<T> {
    const path = `api/runs/${segment("id of a run", runId)}${what}`;
    return (await this.#call({ method: "GET", path }, schema, "own, of something", signal)).value;
  }

  async #requireInputs(signal: AbortSignal): Promise<void> {
    if (this.#takesInputs) return;
    const health = await this.health(signal).catch((error: unknown) => {
      if (!(error instanceof PipelineError) || error instanceof OutOfReach) throw error;
      return undefined;
    });
    if (health?.inputs !== true) {
      throw new PipelineError(
        "not-supported",
        `${this.baseUrl.host} doesn't take the inputs of a run, so none was started.`,
        { next: "Start it without them, or on a newer service." },
      );
    }
    this.#takesInputs = true;
  }

  /** The value of the reply, with the service's clock (its `Date`) in milliseconds since 1970. */
  async #call<T>(
    call: ServiceCall,
    schema: z.ZodMiniType<T>,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<{ readonly value: T; readonly servedAt: number | undefined }> {
    const attempt = async () => {
      const reply = await exchange(this, call, signal);
      if (reply.status >= 400) throw replyError(this, call, reply, origin);
      return { value: readReply(this, call, reply, schema), servedAt: timeOf(reply) };
    };
    const retries = this.#retries;
    if (retries === undefined || !isRepeatable(call)) return attempt();
    return withRetries(attempt, { clock: this.clock, random: this.random, retries }, signal);
  }
}

/** The service's clock, in milliseconds since 1970; undefined without a valid `Date`. */
function timeOf({ headers }: Reply): number | undefined {
  const time = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}
