import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { readEnvFile } from "../project/envFile.ts";
import { preparePipes } from "./cli/openOutputs.ts";
import type { Message } from "./launch/messages.ts";
import {
  type CleanupOrder,
  type Job,
  type LifeSign,
  machineMilliseconds,
  readLines,
} from "./launch/protocol.ts";
import { endProcesses } from "./processes/endProcesses.ts";
import { newTraces, type ProcessTable, type RunTraces } from "./processes/processTable.ts";
import { removeScratch } from "./processes/scratchFolder.ts";
import { processTable } from "./processes/systemProcesses.ts";
import { RunOutput } from "./step/runOutput.ts";
import { SharedResources } from "./step/stepContext.ts";
import { nodeOnPath, stepEnvironment, variable } from "./step/stepEnvironment.ts";
import { runSteps } from "./steps/runSteps.ts";
import { sendPipeline } from "./steps/runValues.ts";
import { openScopes, runContext } from "./steps/scopes.ts";

/**
 * Runs the job that arrives on the standard input. Resolves when every other process of the run is gone, whether the run finished
 * or was ended because the pipe closed.
 *
 * @param programPath the file of the program that this process runs.
 * @param ended aborted when this process has to end.
 * @throws when the job can't be read.
 */
export async function serveRunner(
  programPath: string,
  processes: ProcessTable,
  ended: AbortSignal,
): Promise<void> {
  const { execPath, platform, pid, stdin, stdout } = process;
  const { job: arriving, signal, cleaningUp, cleanUpUntil, livesUntil } = lifeline(stdin, ended);
  const { birth, cgroup } = await ownCgroup(processes);
  // Leaving a cgroup is slow: normally the service removes it as soon as this process is gone, but it may have died.
  const removeCgroup = async (): Promise<void> => {
    if (cgroup !== undefined && signal.aborted) await processes.cgroups?.remove(cgroup);
  };
  const job = await arriving;
  if (job === undefined) return removeCgroup();
  if (cgroup === undefined) await processes.mark?.(job.runId);
  const send = (...messages: readonly Message[]): void => {
    if (messages.length > 0) stdout.write(messages.map((one) => `${JSON.stringify(one)}\n`).join(""));
  };
  const traces = newTraces(job.runId, pid, cgroup, birth);
  using scans = scanRepeatedly(async () => {
    const before = [...traces.groups];
    await processes.scan?.(traces);
    for (const group of before) if (!traces.groups.has(group)) send({ kind: "vacated", pid: group });
  });
  const onSpawned = (program: number): void => {
    // If this runner dies, the service knows the run's programs by these messages.
    send({ kind: "spawned", pid: program });
    traces.groups.add(program);
    // With a cgroup no scan is needed: even what detaches at once stays in it.
    if (cgroup === undefined) scans.look();
  };
  // Ignored: the service is gone then, and the closed input ends the run.
  stdout.on("error", () => {});
  const own = stepEnvironment(process.env, job);
  const { environment, node } = await nodeOnPath(own, execPath, platform);
  const envFile = await readEnvFile(job);
  const variables = envFile.kind === "read" ? { ...environment, ...envFile.variables } : environment;
  const find = (name: string) => variable(variables, name, platform);
  const now = () => new Date();
  const known = { run: runContext(job), now, uuid: randomUUID };
  const { mask, scopes, isNeeded } = await openScopes(job, find, known);
  const output = new RunOutput({
    send: (messages) => send(...messages),
    now,
    mask,
    artifactsFolder: job.artifactsFolder,
  });
  const isEnded = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const shared = new SharedResources();
  try {
    if (envFile.kind === "unreadable") {
      send({ kind: "finished", outcome: "failed", message: envFile.message });
      return;
    }
    await sendPipeline(job, environment, { mask, send, signal });
    const running = runSteps(job, {
      stepContext: {
        root: job.root,
        environment,
        node,
        platform,
        program: { execPath, path: programPath },
        mask,
        shared,
        signal,
        onSpawned,
      },
      output,
      scopes,
      isNeeded,
      send,
      now,
      isAnythingRunning: () => isAnythingRunning(processes, traces),
      isGroup: (group) => traces.groups.has(group),
      cleaningUp,
      cleanUpUntil,
    });
    await Promise.race([running, isEnded]);
  } finally {
    // A run that was suspended past its time has used up its grace time too.
    const rest = livesUntil() + job.graceMilliseconds - machineMilliseconds();
    const graceMilliseconds = Math.max(0, Math.min(job.graceMilliseconds, rest));
    // The service checks all processes when the run has ended. Doing so here too would keep the next run waiting.
    const isOver = !signal.aborted && (await isAlone(processes, traces));
    await Promise.all([
      isOver ? undefined : endProcesses({ processes, run: traces, graceMilliseconds, spare: pid }),
      // A server that no longer answers must not keep the run from ending.
      Promise.race([shared[Symbol.asyncDispose](), pause(graceMilliseconds, undefined, { ref: false })]),
    ]);
    await output.end();
    await removeScratch(job.runId);
    await removeCgroup();
  }
}

/** Unknown counts as running, so that nothing false is reported. */
async function isAnythingRunning(processes: ProcessTable, run: RunTraces): Promise<boolean> {
  try {
    const found = await processes.processesOf(run);
    return found.some((other) => other !== process.pid);
  } catch {
    return true;
  }
}

/** Whether nothing else is in the run's cgroup, and no process seen before has left it; false where that can't be read. */
async function isAlone(processes: ProcessTable, { cgroup, seen }: RunTraces): Promise<boolean> {
  if (cgroup === undefined) return false;
  try {
    const members = processes.cgroups?.members(cgroup) ?? [];
    if (members.length !== 1 || members[0] !== process.pid) return false;
    for (const [other, birth] of seen)
      if (other !== process.pid && (await processes.birthOf(other)) === birth) return false;
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a cgroup for this process and what it will start, and enters it.
 * @returns its folder, undefined where the system has none or doesn't allow it, and when this process started.
 */
async function ownCgroup(processes: ProcessTable) {
  const { pid } = process;
  const birth = await processes.birthOf(pid);
  const folder = birth === undefined ? undefined : processes.cgroups?.make({ pid, birth });
  const isIn = folder !== undefined && processes.cgroups?.enter(folder);
  return { birth, cgroup: isIn ? folder : undefined };
}

/**
 * The pipe from the service. The run has to end when it closes, or when the life signs on it stop.
 * @param ended aborted when this process has to end.
 */
function lifeline(input: Readable, ended: AbortSignal) {
  const cutting = new AbortController();
  const cleaningUp = new AbortController();
  const job = Promise.withResolvers<Job | undefined>();
  let cleanUpUntil = Number.POSITIVE_INFINITY;
  const close = () => {
    life.clear();
    steps.clear();
    cutting.abort();
    job.resolve(undefined);
  };
  const life = new Deadline(close);
  const steps = new Deadline(() => cleaningUp.abort());
  const take = (line: Partial<LifeSign & CleanupOrder>): void => {
    if (line.livesUntil !== undefined) life.set(line.livesUntil);
    if (line.cleanUpUntil !== undefined) {
      cleanUpUntil = line.cleanUpUntil;
      cleaningUp.abort();
    }
  };
  let isFirst = true;
  readLines(input, (text) => {
    if (cutting.signal.aborted) return;
    if (isFirst) {
      isFirst = false;
      const first: Job = JSON.parse(text);
      job.resolve(first);
      if (first.cleanUpAt !== undefined) steps.set(first.cleanUpAt);
      take(first);
    } else take(JSON.parse(text));
  });
  for (const event of ["end", "error", "close"]) input.once(event, close);
  ended.addEventListener("abort", close, { once: true });
  return {
    /** Undefined when the run had to end before its job arrived. */
    job: job.promise,
    /** Aborted when the pipe closes, the run's time is over, or this process has to end. */
    signal: cutting.signal,
    /** Aborted when the steps have to end so that the run cleans up: at the service's order, or when their time is over. */
    cleaningUp: cleaningUp.signal,
    /** When the cleanup has to be over, in `machineMilliseconds`; infinite without an order. */
    cleanUpUntil: () => cleanUpUntil,
    /** In `machineMilliseconds`; infinite for a run without life signs. */
    livesUntil: () => life.at,
  };
}

/** A time on this machine's clock that may be moved, and what happens when it comes. */
class Deadline {
  /** In `machineMilliseconds`. */
  at = Number.POSITIVE_INFINITY;
  readonly #reach: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(reach: () => void) {
    this.#reach = reach;
  }

  set(at: number): void {
    this.at = at;
    this.#check();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    const rest = this.at - machineMilliseconds();
    clearTimeout(this.#timer);
    if (rest <= 0) this.#reach();
    // After a suspension, timers fire before the pipe is read, which may hold a newer life sign.
    else this.#timer = setTimeout(() => setImmediate(() => this.#check()), rest).unref();
  }
}

/** Serves the run whose job arrives on standard input, then ends this process. @param programPath the program that it runs. */
export async function serveRun(programPath: string): Promise<void> {
  const ending = new AbortController();
  let endsBy: NodeJS.Signals = "SIGKILL";
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      endsBy = signal;
      ending.abort();
    });
  }
  const pipes = preparePipes(process.platform);
  await serveRunner(programPath, processTable(process.platform), ending.signal);
  // If this process ended while the pipes are made, their files would be left behind.
  await pipes;
  // The empty write completes after every message. Then the process kills itself: `exit` may hang (nodejs/node#54918) and takes
  // milliseconds, for which the next run would wait. After a signal it ends by the same one, which its service names.
  process.stdout.write("", () => process.removeAllListeners(endsBy).kill(process.pid, endsBy));
}

/** The pauses between two scans, in milliseconds; longer only after a slow scan. */
const pauses = { shortest: 10, longest: 250 } as const;
/** A pause is at least this many times as long as the scan before it, which bounds the load; shorter if a scan is asked for. */
const restFactor = { asked: 4, otherwise: 50 } as const;

/**
 * Calls `scan` repeatedly until it is disposed: soon after a process started, since a process that detaches usually does
 * so at once, then after pauses that double. Scans never overlap.
 */
export function scanRepeatedly(scan: () => void | Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  let isScanning = false;
  let isAsked = false;
  let isOver = false;
  const plan = (rest: number, pauseAfter: number): void => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(() => void scanAndPlan(pauseAfter), rest).unref();
  };
  const scanAndPlan = async (pauseAfter: number): Promise<void> => {
    isScanning = true;
    isAsked = false;
    const began = performance.now();
    try {
      await scan();
    } catch {
      // Ignored: the next scan makes up for it, and the end of the run reports lasting problems.
    }
    isScanning = false;
    const took = performance.now() - began;
    if (isAsked) plan(Math.max(pauses.shortest, took * restFactor.asked), pauses.shortest);
    else plan(Math.max(pauseAfter, took * restFactor.otherwise), Math.min(pauseAfter * 2, pauses.longest));
  };
  return {
    /** Scans soon, since a process has started. */
    look() {
      // A scan that is asked for already isn't put off.
      const isComing = isScanning || isAsked;
      isAsked = true;
      if (!isComing) plan(pauses.shortest, pauses.shortest);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
