import { growingPauses } from "../../client/service/retry.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { StopReason, Work } from "../../contract/runners.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { machineMilliseconds } from "../../runner/launch/protocol.ts";
import { ReadyRunner, type RunnerProgram } from "../../runner/launch/readyRunner.ts";
import { processTable } from "../../runner/processes/systemProcesses.ts";
import { machineFolder, removeFolder } from "./machineFolder.ts";
import { livesUntil, MachineRun, type MachineRunDeps, type Unpack } from "./machineRun.ts";
import { type RunnerApi, retryPauses } from "./runnerApi.ts";

export interface RunnerMachineOptions {
  readonly api: Pick<RunnerApi, "register" | "work" | "heartbeat"> & MachineRunDeps["api"];
  readonly clock: Clock;
  readonly log: Log;
  /** The machine's name for people. */
  readonly label: string;
  /** How many runs it works on at the same time. */
  readonly slots: number;
  /** Whether it ends after one run. */
  readonly isOnce: boolean;
  readonly program: Omit<RunnerProgram, "processes">;
  readonly unpack: Unpack;
  /** From SIGTERM to SIGKILL. */
  readonly graceMilliseconds?: number;
  /** Called once the service knows the runner. */
  readonly onRegistered: (runnerId: string) => void;
}

/** How long the service may hold a request, in seconds. A drain waits for the request for work: aborted, it could lose a run. */
const holds = { work: 5, heartbeat: 2 } as const;
/** The shortest time from one request to the next of its kind, in milliseconds, where the service doesn't hold them. */
const paces = { work: 250, heartbeat: 200 } as const;
/** How long this machine takes no runs after it couldn't begin one, in milliseconds: others can, and it may have space later. */
const rests = { shortest: 5_000, longest: 300_000 } as const;
/** The most runs whose end the service has refused and that are still named to it. */
const mostRefused = 100;

/**
 * Runs what the service has for this machine until `draining` aborts, or after one run: it then takes no more, and resolves when
 * its runs are over.
 * @throws PipelineError when the service doesn't take this runner or its key.
 */
export async function runMachine(options: RunnerMachineOptions, draining: AbortSignal): Promise<void> {
  const { clock, log, program, slots } = options;
  const runnerId = await register(options, draining);
  if (runnerId === undefined) return;
  options.onRegistered(runnerId);
  log("info", "registered", { runnerId, label: options.label, slots });
  const processes = processTable(process.platform);
  const graceMilliseconds = options.graceMilliseconds ?? 5_000;
  const folder = await machineFolder({ processes, graceMilliseconds, log });
  using runners = new ReadyRunner({ ...program, processes }, clock);
  const machine = new RunnerMachine({
    ...options,
    runnerId,
    folder,
    runners,
    processes,
    graceMilliseconds,
    draining,
    now: () => new Date(clock.now()),
    prepare() {
      const { removed } = runners;
      if (removed !== undefined)
        throw new PipelineError(
          "internal",
          `This runner can begin no run any more, since ${removed} was removed.`,
          {
            next: "Start it again.",
          },
        );
      runners.prepare();
    },
  });
  await machine.work().finally(() => removeFolder(folder, log));
}

/** @returns undefined when it was drained before the service knew it. @throws the error after which no attempt can succeed. */
async function register(
  { api, clock, log, label }: RunnerMachineOptions,
  draining: AbortSignal,
): Promise<string | undefined> {
  const pauses = growingPauses(Math.random, retryPauses);
  while (!draining.aborted) {
    try {
      return await api.register(label, draining);
    } catch (error) {
      if (draining.aborted) break;
      const mayPass = error instanceof PipelineError && ["out-of-reach", "internal"].includes(error.type);
      if (!mayPass) throw error;
      log("warn", "the service doesn't answer yet", { error });
      await clock.sleep(pauses.next().value, draining).catch(() => {});
    }
  }
  return undefined;
}

interface MachineDeps
  extends Omit<MachineRunDeps, "api">,
    Pick<RunnerMachineOptions, "api" | "slots" | "isOnce"> {
  /** Called when a run may begin soon. @throws PipelineError if no run can begin any more. */
  readonly prepare: () => void;
}

/** Asks for work while a slot is free, and keeps the leases of the runs that it has. */
class RunnerMachine {
  readonly #deps: MachineDeps;
  readonly #runs = new Map<string, MachineRun>();
  /** Runs whose end the service refused. They are named to it, so that it doesn't give them to this runner again. */
  readonly #refused = new Set<string>();
  #beating: Promise<void> | undefined;
  #rests = growingPauses(Math.random, rests);
  /** How long to wait before taking the next run, in milliseconds. */
  #rest = 0;

  constructor(deps: MachineDeps) {
    this.#deps = deps;
  }

  async work(): Promise<void> {
    const { clock, log, api, runnerId, slots, isOnce, draining } = this.#deps;
    let pauses = growingPauses(Math.random, retryPauses);
    try {
      for (let taken = 0; !draining.aborted && !(isOnce && taken > 0); ) {
        if (this.#runs.size >= slots) {
          await Promise.race([...this.#runs.values()].map(({ over }) => over));
          continue;
        }
        if (this.#rest > 0) {
          const rest = this.#rest;
          // Now: another run may set a new one meanwhile.
          this.#rest = 0;
          await clock.sleep(rest, draining).catch(() => {});
          continue;
        }
        this.#deps.prepare();
        const askedAt = machineMilliseconds();
        const known = [...this.#runs.keys(), ...this.#refused];
        try {
          const work = await api.work(runnerId, known, holds.work, new AbortController().signal);
          pauses = growingPauses(Math.random, retryPauses);
          if (work !== undefined && this.#begin(work, askedAt)) taken += 1;
          else await clock.sleep(Math.max(0, askedAt + paces.work - machineMilliseconds()), draining);
        } catch (error) {
          if (draining.aborted) break;
          // A service that refuses this runner's key won't accept it later.
          if (error instanceof PipelineError && ["unauthorized", "forbidden"].includes(error.type))
            throw error;
          log("warn", "the service gives no work", { error });
          await clock.sleep(pauses.next().value, draining).catch(() => {});
        }
      }
    } finally {
      if (this.#runs.size > 0) log("info", "draining", { runs: [...this.#runs.keys()] });
      while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ over }) => over));
      await this.#beating;
    }
  }

  /** @param askedAt when its lease may have begun. @returns whether the run was begun. */
  #begin(work: Work, askedAt: number): boolean {
    const { runId } = work;
    if (this.#runs.has(runId) || this.#refused.has(runId)) return false;
    // The reply is too old, as after a suspension of this process. The service gives the run again.
    if (livesUntil(work, askedAt) <= machineMilliseconds()) return false;
    const run = new MachineRun(work, askedAt, this.#deps);
    this.#deps.log("info", "run taken", { runId });
    this.#runs.set(runId, run);
    void run.over.then((outcome) => {
      this.#runs.delete(runId);
      if (outcome === "refused") this.#refuse(runId);
      if (outcome === "returned") this.#rest = this.#rests.next().value;
      else this.#rests = growingPauses(Math.random, rests);
    });
    // The heartbeat that the service holds doesn't name this run.
    void this.#beat([runId], 0);
    this.#beating ??= this.#beatAlways().finally(() => {
      this.#beating = undefined;
    });
    return true;
  }

  #refuse(runId: string): void {
    this.#refused.add(runId);
    const [oldest] = this.#refused;
    if (this.#refused.size > mostRefused && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** Heartbeats, one after the other, while there are runs. */
  async #beatAlways(): Promise<void> {
    for (let isAccepted = true; this.#runs.size > 0; ) {
      const sentAt = machineMilliseconds();
      // After a failure the next one is sent at once and not held: the runs have little time left.
      isAccepted = await this.#beat([...this.#runs.keys()], isAccepted ? holds.heartbeat : 0);
      const early = sentAt + paces.heartbeat - machineMilliseconds();
      if (early > 0) await this.#deps.clock.sleep(early, new AbortController().signal);
    }
  }

  /** One heartbeat. Never rejects. @returns whether the service has accepted it. */
  async #beat(runs: readonly string[], waitSeconds: number): Promise<boolean> {
    const { api, runnerId, log } = this.#deps;
    const sentAt = machineMilliseconds();
    let reply: { stop: readonly { runId: string; reason: StopReason }[]; gone: readonly string[] };
    try {
      reply = await api.heartbeat(runnerId, runs, waitSeconds, new AbortController().signal);
    } catch (error) {
      log("warn", "no heartbeat", { error });
      return false;
    }
    const gone = new Set(reply.gone);
    for (const runId of runs) {
      const run = this.#runs.get(runId);
      if (gone.has(runId)) run?.abandon();
      else run?.renew(sentAt);
    }
    for (const { runId, reason } of reply.stop) this.#runs.get(runId)?.stop(reason);
    return true;
  }
}
