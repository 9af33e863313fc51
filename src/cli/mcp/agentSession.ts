import type { ServiceClient } from "../../client/service/client.ts";
import { findAgain, mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { nextReset } from "../../contract/day.ts";
import type { Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { type Numbers, numbersOf } from "../commands/org.ts";
import { registerLocalProject } from "../run/runPipelines.ts";
import type { Tool } from "../tool.ts";
import type { AgentQuota, Holder } from "./results.ts";
import { hasFreeSlot, StartGuard, type StartLimits } from "./startGuard.ts";

export interface McpOptions extends StartLimits {
  /** Whether agents may only look. */
  readonly isReadOnly: boolean;
  /** The project's name, if not its folder's. */
  readonly project: string | undefined;
}

/** What `registerLocalProject` found. */
type KnownProject = Awaited<ReturnType<typeof registerLocalProject>>;

/** What the calls of one server share: the service, the project, and what agents have started. */
export class AgentSession {
  readonly options: McpOptions;
  readonly guard: StartGuard;
  readonly clock: Clock;
  /** Aborted when the server ends. */
  readonly ended: AbortSignal;
  readonly #tool: Tool;
  #client: ServiceClient | undefined;
  #project: KnownProject | undefined;
  /** What the service said last, and when its day ends by the clock here. */
  #last: { readonly quota: AgentQuota; readonly until: number } | undefined;

  constructor(tool: Tool, options: McpOptions, clock: Clock = systemClock) {
    this.#tool = tool;
    this.ended = anySignal([tool.interrupted, tool.unread]);
    this.options = options;
    const limits = options.isReadOnly ? { ...options, maxRuns: 0 } : options;
    this.clock = clock;
    this.guard = new StartGuard(limits, clock);
  }

  /** What the service said last; undefined when it has to be asked, as on the next day. */
  get lastQuota(): AgentQuota | undefined {
    return this.#last !== undefined && this.clock.now() < this.#last.until ? this.#last.quota : undefined;
  }

  /** The tool for one call, whose signal ends what the call does. It connects to the service where that was found last. */
  toolFor(signal: AbortSignal): Tool {
    return { ...this.#tool, interrupted: signal, connect: (ends = signal) => this.connected(ends) };
  }

  /** Asks the service; when it has moved since, as a restarted embedded one may have, once more where it is now. */
  async ask<T>(act: (client: ServiceClient) => Promise<T>, signal: AbortSignal): Promise<T> {
    const client = await this.connected(signal);
    try {
      return await act(client);
    } catch (error) {
      if (!mayHaveRestarted(error)) throw error;
      const found = await findAgain(client, this.reconnect, signal);
      if (found === client) throw error;
      return act(found);
    }
  }

  /** Finds the service anew. */
  readonly reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    this.#client = await this.#tool.connect(signal);
    this.#project = undefined;
    return this.#client;
  };

  /** The project here, registered once with a service on this machine. */
  async project(signal: AbortSignal): Promise<KnownProject> {
    const { project: name } = this.options;
    this.#project ??= await this.ask(
      (client) => registerLocalProject(this.toolFor(signal), client, name),
      signal,
    );
    return this.#project;
  }

  /** Reads the org and who holds its slots. */
  async look(signal: AbortSignal): Promise<{ readonly seen: Numbers; readonly quota: AgentQuota }> {
    // A look that fails leaves nothing that may be old.
    this.#last = undefined;
    const seen = await this.ask((client) => numbersOf(client, signal), signal);
    this.guard.see(seen);
    const quota = this.#quotaOf(seen);
    const now = this.clock.now();
    const served = seen.servedAt ?? now;
    this.#last = { quota, until: now + nextReset(served) - served };
    return { seen, quota };
  }

  /** The service where it was found last. */
  async connected(signal: AbortSignal): Promise<ServiceClient> {
    this.#client ??= await this.#tool.connect(signal);
    return this.#client;
  }

  #quotaOf(seen: Numbers): AgentQuota {
    const { org, servedAt, runsInWork } = seen;
    const startsLeft = this.guard.startsLeft(org);
    // The service lists the newest first.
    const holders = runsInWork
      ?.map((run) => holderOf(run, org.actor, servedAt))
      .reverse()
      .sort((one, other) => (one.secondsLeft ?? unlimited) - (other.secondsLeft ?? unlimited));
    return {
      runsToday: org.usage.runsToday,
      runsPerDay: org.limits.runsPerDay,
      startsLeft,
      resetsAt: servedAt === undefined ? undefined : new Date(nextReset(servedAt)).toISOString(),
      asOf: servedAt === undefined ? undefined : new Date(servedAt).toISOString(),
      slots: org.limits.parallelRuns,
      holders,
      next: this.#nextOf(seen, startsLeft, holders?.[0]),
    };
  }

  #nextOf(seen: Numbers, startsLeft: number, holder: Holder | undefined): string {
    if (holder !== undefined && !hasFreeSlot(seen)) {
      const what = `${holder.pipeline ?? "A run"} (${holder.runId}) holds the slot: wait_for_run waits for its end.`;
      return startsLeft === 0 ? `${what} Then start no more runs.` : what;
    }
    if (startsLeft === 0) return "Start no more runs; the person may.";
    if (seen.runsInWork === undefined) return "start_run says whether the slot is free.";
    return "The slot is free: start_run starts a run.";
  }
}

const unlimited = Number.MAX_SAFE_INTEGER;

/** @param me the id of the key in use. @param servedAt the service's clock, in milliseconds since 1970. */
function holderOf(run: Run, me: string, servedAt: number | undefined): Holder {
  const { runId, pipeline, actor, createdAt } = run;
  return { runId, pipeline, isYours: actor === me, createdAt, secondsLeft: secondsToLimit(run, servedAt) };
}
