import type { ServiceClient } from "../../client/service/client.ts";
import { findAgain, mayHaveRestarted } from "../../client/service/failedRequest.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { nextReset } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { type Numbers, numbersOf } from "../commands/org.ts";
import { registerLocalProject } from "../run/runPipelines.ts";
import type { Tool } from "../tool.ts";
import type { AgentQuota, Holder, StartRefusal } from "./results.ts";

export interface McpOptions extends StartLimits {
  /** Whether agents may only look. */
  readonly readOnly?: boolean;
  /** The project's name, if not its folder's. */
  readonly project?: string;
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
    const limits = options.readOnly ? { ...options, maxRuns: 0 } : options;
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
    this.#last = { quota, until: dayEnd(this.clock, seen).until };
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

/** What agents may use of the day's runs. */
interface StartLimits {
  /** How many runs they may start until the server ends; undefined for no limit of its own. */
  readonly maxRuns?: number | undefined;
  /** How many of the day's runs they leave to people. */
  readonly reserve?: number;
}

/** For how long a taken slot is answered from memory, if nothing shows that it has become free. */
const slotSeconds = 15;

/**
 * Keeps an agent from asking the service again and again for what it has just refused. A used-up day is remembered until the
 * count starts again, a taken slot for some seconds, and each only until the service says something better.
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

  /** Runs one start at a time, so that none passes a limit beside another. */
  oneAtATime<T>(start: () => Promise<T>): Promise<T> {
    const started = this.#last.then(start);
    this.#last = started.catch(() => undefined);
    return started;
  }

  /** Counts a run that was started, or may have been. */
  count(): void {
    this.#started += 1;
  }

  /** How many runs agents may still start today, by what was seen last of the org. */
  startsLeft({ limits, usage }: Org): number {
    const ofDay = limits.runsPerDay - usage.runsToday - this.#limits.reserve;
    return Math.max(0, Math.min(ofDay, this.#ofSession()));
  }

  /** The refusal of a start that needs no request: this server's own limit, or what the service has just said. */
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

  /** The refusal of a start that would take what is left to people. Remembered until the count starts again. */
  reserved(seen: Numbers): StartRefusal | undefined {
    const { limits, usage } = seen.org;
    const left = limits.runsPerDay - usage.runsToday;
    // A used-up day is the service's to refuse.
    if (left <= 0 || left > this.#limits.reserve) return undefined;
    const next = `Start no more runs today: the last ${this.#limits.reserve} of the day are left to people. Tell the person.`;
    return this.#rememberDay("reserve", seen, next);
  }

  /** The refusal of a start that found the day used up. Remembered until the count starts again. */
  usedUp(seen: Pick<Numbers, "servedAt">): StartRefusal {
    const next = "Start no more runs before `resets-at`: asking again can't help. Tell the person.";
    return this.#rememberDay("free-day", seen, next);
  }

  /**
   * The refusal of a start that found the slot taken, which is remembered unless the slot has become free since.
   * @param holder undefined where the service doesn't tell.
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

  /** Forgets a refusal that what the service says now contradicts. */
  see(seen: Numbers): void {
    const scope = this.#remembered?.refusal.scope;
    const isBetter = scope === "org" ? hasFreeSlot(seen) : this.startsLeft(seen.org) > 0;
    if (isBetter) this.#remembered = undefined;
  }

  #ofSession(): number {
    return (this.#limits.maxRuns ?? Number.POSITIVE_INFINITY) - this.#started;
  }

  /** Until 00:00 UTC. */
  #rememberDay(scope: "free-day" | "reserve", seen: Pick<Numbers, "servedAt">, next: string): StartRefusal {
    const { reset, until } = dayEnd(this.#clock, seen);
    const refusal = { scope, retryable: false, resetsAt: new Date(reset).toISOString(), next } as const;
    this.#remembered = { refusal, until };
    return { ...refusal, retryAfterSeconds: Math.ceil((until - this.#clock.now()) / 1000) };
  }
}

/** When the day's count starts again, by the service's clock (`reset`) and by the one here, which is as long until then. */
function dayEnd(clock: Pick<Clock, "now">, { servedAt }: Pick<Numbers, "servedAt">) {
  const now = clock.now();
  const reset = nextReset(servedAt ?? now);
  return { reset, until: now + reset - (servedAt ?? now) };
}

/** Whether the org has a free slot, as far as the service tells. */
function hasFreeSlot({ org, runsInWork }: Pick<Numbers, "org" | "runsInWork">): boolean {
  return runsInWork !== undefined && runsInWork.length < org.limits.parallelRuns;
}
