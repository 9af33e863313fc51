import type { ServiceClient } from "../../client/service/client.ts";
import { findAgain, mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { nextReset } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { type Numbers, numbersOf } from "../commands/org.ts";
import { registerLocalProject } from "../run/runPipelines.ts";
import type { Tool } from "../tool.ts";
import type { AgentQuota, Holder, StartRefusal } from "./results.ts";

export interface McpOptions extends StartLimits {
  /** Whether agents may only read. */
  readonly readOnly?: boolean;
  /** The project's name, if it isn't the folder's. */
  readonly project?: string;
}

/** The result of `registerLocalProject`. */
type KnownProject = Awaited<ReturnType<typeof registerLocalProject>>;

/** The state that all calls of one server share: the service, the project, and what agents have started. */
export class AgentSession {
  readonly options: McpOptions;
  readonly guard: StartGuard;
  readonly clock: Clock;
  /** Aborted when the server ends. */
  readonly ended: AbortSignal;
  readonly #tool: Tool;
  #client: ServiceClient | undefined;
  #project: KnownProject | undefined;
  /** The last quota that the service sent, and the end of its day by this machine's clock. */
  #last: { readonly quota: AgentQuota; readonly until: number } | undefined;

  constructor(tool: Tool, options: McpOptions, clock: Clock = systemClock) {
    this.#tool = tool;
    this.ended = anySignal([tool.interrupted, tool.unread]);
    this.options = options;
    const limits = options.readOnly ? { ...options, maxRuns: 0 } : options;
    this.clock = clock;
    this.guard = new StartGuard(limits, clock);
  }

  /** The last quota that the service sent; undefined if the service must be asked, as on the next day. */
  get lastQuota(): AgentQuota | undefined {
    return this.#last !== undefined && this.clock.now() < this.#last.until ? this.#last.quota : undefined;
  }

  /** The tool for one call, which its signal ends. Connects to the service where it was last found. */
  toolFor(signal: AbortSignal): Tool {
    return { ...this.#tool, interrupted: signal, connect: (ends = signal) => this.connected(ends) };
  }

  /** Asks the service; if it has moved, as a restarted embedded one may, asks once more at its new address. */
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

  /** Finds the service again. */
  readonly reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    this.#client = await this.#tool.connect(signal);
    this.#project = undefined;
    return this.#client;
  };

  /** This folder's project, registered once with a service on this machine. */
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
    // If reading fails, the old quota is gone too.
    this.#last = undefined;
    const seen = await this.ask((client) => numbersOf(client, signal), signal);
    this.guard.see(seen);
    const quota = this.#quotaOf(seen);
    this.#last = { quota, until: dayEnd(this.clock, seen).until };
    return { seen, quota };
  }

  /** The service where it was last found. */
  async connected(signal: AbortSignal): Promise<ServiceClient> {
    this.#client ??= await this.#tool.connect(signal);
    return this.#client;
  }

  #quotaOf(seen: Numbers): AgentQuota {
    const { org, servedAt, runsInWork } = seen;
    const startsLeft = this.guard.startsLeft(org);
    // The service lists the newest first.
    const holders = runsInWork
      ?.map((run): Holder => {
        const { runId, pipeline, actor, createdAt } = run;
        const secondsLeft = secondsToLimit(run, servedAt);
        return { runId, pipeline, isYours: actor === org.actor, createdAt, secondsLeft };
      })
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

/** How much of the day's runs agents may use. */
interface StartLimits {
  /** How many runs they may start until the server ends; undefined for no limit. */
  readonly maxRuns?: number | undefined;
  /** How many of the day's runs they leave to people. */
  readonly reserve?: number;
}

/** For how long a taken slot is remembered, unless it is seen to be free. */
const slotSeconds = 15;

/**
 * Keeps an agent from asking the service again and again for what it has just refused. A used-up day is remembered until the
 * count starts again, a taken slot for some seconds; either is forgotten once the service shows otherwise.
 */
export class StartGuard {
  readonly #limits: Required<StartLimits>;
  readonly #clock: Pick<Clock, "now">;
  #started = 0;
  #remembered: { readonly refusal: StartRefusal; readonly until: number } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ maxRuns, reserve = 0 }: StartLimits, clock: Pick<Clock, "now">) {
    this.#limits = { maxRuns, reserve };
    this.#clock = clock;
  }

  /** Runs one start at a time, so that concurrent starts can't exceed a limit together. */
  oneAtATime<T>(start: () => Promise<T>): Promise<T> {
    const started = this.#last.then(start);
    this.#last = started.catch(() => undefined);
    return started;
  }

  /** Counts a run that was started, or may have been. */
  count(): void {
    this.#started += 1;
  }

  /** How many runs agents may still start today, by the org as last seen. */
  startsLeft({ limits, usage }: Org): number {
    const ofDay = limits.runsPerDay - usage.runsToday - this.#limits.reserve;
    return Math.max(0, Math.min(ofDay, this.#ofSession()));
  }

  /** The refusal of a start that needs no request: by this server's own limit, or by what the service has just refused. */
  known(): StartRefusal | undefined {
    if (this.#ofSession() <= 0) {
      return {
        scope: "session",
        retryable: false,
        next: `Start no more runs: this server may start ${this.#limits.maxRuns}, and has. Tell the person, who can run the pipeline, or raise --max-runs.`,
      };
    }
    if (this.#remembered === undefined) return undefined;
    const { refusal, until } = this.#remembered;
    const left = Math.ceil((until - this.#clock.now()) / 1000);
    if (left > 0) return { ...refusal, retryAfterSeconds: left };
    this.#remembered = undefined;
    return undefined;
  }

  /** The refusal of a start that would use a run reserved for people. Remembered until the count starts again. */
  reserved(seen: Numbers): StartRefusal | undefined {
    const { limits, usage } = seen.org;
    const left = limits.runsPerDay - usage.runsToday;
    // The service itself refuses on a used-up day.
    if (left <= 0 || left > this.#limits.reserve) return undefined;
    const next = `Start no more runs today: the last ${this.#limits.reserve} of the day are left to people. Tell the person.`;
    return this.#rememberDay("reserve", seen, next);
  }

  /** The refusal of a start on a used-up day. Remembered until the count starts again. */
  usedUp(seen: Pick<Numbers, "servedAt">): StartRefusal {
    const next = "Start no more runs before `resets-at`: asking again can't help. Tell the person.";
    return this.#rememberDay("free-day", seen, next);
  }

  /**
   * The refusal of a start that found the slot taken. Remembered, unless the slot has become free since.
   * @param holder undefined if the service doesn't say.
   */
  taken(seen: Numbers, holder: Holder | undefined): StartRefusal {
    if (hasFreeSlot(seen)) {
      const next = "The slot has become free in this moment: call start_run once more.";
      return { scope: "org", retryable: true, retryAfterSeconds: 1, next };
    }
    const next =
      holder === undefined
        ? "Wait, then call start_run once more; get_quota shows whether the slot is free."
        : `Call wait_for_run with run-id ${holder.runId}, then start_run once more.`;
    const refusal: StartRefusal = { scope: "org", retryable: true, ...(holder && { holder }), next };
    this.#remembered = { refusal, until: this.#clock.now() + slotSeconds * 1000 };
    return { ...refusal, retryAfterSeconds: slotSeconds };
  }

  /** Forgets a refusal that the service's current numbers contradict. */
  see(seen: Numbers): void {
    const scope = this.#remembered?.refusal.scope;
    const isBetter = scope === "org" ? hasFreeSlot(seen) : this.startsLeft(seen.org) > 0;
    if (isBetter) this.#remembered = undefined;
  }

  #ofSession(): number {
    return (this.#limits.maxRuns ?? Number.POSITIVE_INFINITY) - this.#started;
  }

  /** Remembers a refusal until 00:00 UTC. */
  #rememberDay(scope: "free-day" | "reserve", seen: Pick<Numbers, "servedAt">, next: string): StartRefusal {
    const { reset, until } = dayEnd(this.#clock, seen);
    const refusal = { scope, retryable: false, resetsAt: new Date(reset).toISOString(), next } as const;
    this.#remembered = { refusal, until };
    return { ...refusal, retryAfterSeconds: Math.ceil((until - this.#clock.now()) / 1000) };
  }
}

/** When the day's count starts again: `reset` by the service's clock, `until` by this machine's. */
function dayEnd(clock: Pick<Clock, "now">, { servedAt }: Pick<Numbers, "servedAt">) {
  const now = clock.now();
  const reset = nextReset(servedAt ?? now);
  return { reset, until: now + reset - (servedAt ?? now) };
}

/** Whether the org is known to have a free slot. */
function hasFreeSlot({ org, runsInWork }: Pick<Numbers, "org" | "runsInWork">): boolean {
  return runsInWork !== undefined && runsInWork.length < org.limits.parallelRuns;
}
