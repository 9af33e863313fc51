import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../contract/errors.ts";
import { meantSteps } from "../contract/fromStep.ts";
import { startsInBackground } from "../pipeline/startsInBackground.ts";
import type { Step } from "../pipeline/types/resourceTypes.ts";
import { readEnvFile } from "../project/envFile.ts";
import type { Environment } from "../project/environment.ts";
import { runCliStep } from "./cli/runCliStep.ts";
import { lifeline } from "./launch/lifeline.ts";
import { type Job, type Message, machineMilliseconds } from "./launch/protocol.ts";
import { Mask } from "./mask/mask.ts";
import { PatternFault } from "./output/textSearch.ts";
import { endProcesses } from "./processes/endProcesses.ts";
import { newTraces, type ProcessTable } from "./processes/processTable.ts";
import { scanRepeatedly } from "./processes/scanRepeatedly.ts";
import { removeScratch } from "./processes/scratchFolder.ts";
import { RunOutput } from "./step/runOutput.ts";
import { failed, SharedResources, type StepContext, type StepOutcome } from "./step/stepContext.ts";
import {
  fillIn,
  type Lookup,
  nodeOnPath,
  referencedNames,
  stepEnvironment,
  variable,
} from "./step/stepEnvironment.ts";

interface RunnerDeps {
  readonly input: Readable;
  readonly output: Writable;
  readonly environment: Environment;
  readonly platform: NodeJS.Platform;
  readonly execPath: string;
  /** The file of the program that this process runs. */
  readonly programPath: string;
  readonly pid: number;
  readonly processes: ProcessTable;
  readonly now: () => Date;
  /** Aborted when this process has to end. */
  readonly ended: AbortSignal;
}

/**
 * Runs the job that arrives on `input`. Resolves when every other process of the run is gone, whether the run finished
 * or was ended because the pipe closed.
 *
 * @throws when the job can't be read.
 */
export async function serveRunner(deps: RunnerDeps): Promise<void> {
  const { firstLine, signal, live, livesUntil } = lifeline(deps.input, deps.ended);
  const cgroup = await ownCgroup(deps);
  // To leave a cgroup takes the kernel long. A service that is there removes it as soon as this process is gone.
  const removeCgroup = async (): Promise<void> => {
    if (cgroup !== undefined && signal.aborted) await deps.processes.cgroups?.remove(cgroup);
  };
  const line = await firstLine;
  if (line === undefined) return removeCgroup();
  const job: Job = JSON.parse(line);
  if (job.livesUntil !== undefined) live({ livesUntil: job.livesUntil });
  const write = (messages: readonly Message[]): void => {
    if (messages.length > 0)
      deps.output.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  };
  const traces = newTraces(job.runId, deps.pid, cgroup);
  using scans = scanRepeatedly(async () => {
    const before = [...traces.groups];
    await deps.processes.scan?.(traces);
    for (const pid of before) if (!traces.groups.has(pid)) write([{ kind: "vacated", pid }]);
  });
  const send = (message: Message): void => {
    write([message]);
    if (message.kind !== "spawned") return;
    traces.groups.add(message.pid);
    scans.look();
  };
  // Ignored: the service is gone then, and the closed input ends the run.
  deps.output.on("error", () => {});
  const own = stepEnvironment(deps.environment, job);
  const { environment, node, dispose } = await nodeOnPath(own, deps.execPath, deps.platform);
  const envFile = await readEnvFile(job);
  const variables = envFile.kind === "read" ? { ...environment, ...envFile.variables } : environment;
  const mask = new Mask(secretsOf(job, variables, deps.platform));
  const { artifactsFolder } = job;
  const output = new RunOutput({ send: write, now: deps.now, mask, artifactsFolder });
  const isEnded = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const shared = new SharedResources();
  try {
    if (envFile.kind === "unreadable") {
      send({ kind: "finished", outcome: "failed", message: envFile.message });
      return;
    }
    const running = runSteps(job, {
      stepContext: {
        root: job.root,
        environment,
        node,
        platform: deps.platform,
        program: { execPath: deps.execPath, path: deps.programPath },
        mask,
        shared,
        signal,
        onSpawned: (pid) => send({ kind: "spawned", pid }),
      },
      output,
      lookup: (name) => variable(variables, name, deps.platform),
      send,
      now: deps.now,
      // Unknown counts as running: nothing is said then.
      isAnythingRunning: () =>
        deps.processes.processesOf(traces).then(
          (pids) => pids.some((pid) => pid !== deps.pid),
          () => true,
        ),
    });
    await Promise.race([running, isEnded]);
  } finally {
    const { processes, pid } = deps;
    // A run that was suspended past its time has used up its grace time too.
    const rest = livesUntil() + job.graceMilliseconds - machineMilliseconds();
    const graceMilliseconds = Math.max(0, Math.min(job.graceMilliseconds, rest));
    await Promise.all([
      endProcesses({ processes, run: traces, graceMilliseconds, spare: pid }),
      // A server that no longer answers must not keep the run from ending.
      Promise.race([shared[Symbol.asyncDispose](), pause(graceMilliseconds, undefined, { ref: false })]),
    ]);
    await output.end();
    await Promise.all([dispose(), removeScratch(job.runId)]);
    await removeCgroup();
  }
}

/**
 * Makes a cgroup for this process and what it will start, and enters it.
 * @returns its folder; undefined where the system has none or doesn't allow it.
 */
async function ownCgroup({ pid, processes }: RunnerDeps): Promise<string | undefined> {
  const birth = await processes.birthOf(pid);
  const folder = birth === undefined ? undefined : processes.cgroups?.make({ pid, birth });
  return folder !== undefined && processes.cgroups?.enter(folder) ? folder : undefined;
}

function secretsOf(job: Job, environment: Environment, platform: NodeJS.Platform): string[] {
  const { steps, unmasked = [] } = job.pipeline;
  return [...referencedNames(steps)].flatMap((name) =>
    unmasked.includes(name) ? [] : (variable(environment, name, platform) ?? []),
  );
}

interface RunDeps {
  readonly stepContext: Omit<StepContext, "log" | "saveArtifact">;
  readonly output: RunOutput;
  readonly lookup: Lookup;
  readonly send: (message: Message) => void;
  readonly now: () => Date;
  /** Whether a step has left a program that still runs. */
  readonly isAnythingRunning: () => Promise<boolean>;
}

/** Runs the steps in order until one fails, and sends the outcome of each. Sends nothing more once the signal is aborted. */
async function runSteps(job: Job, deps: RunDeps): Promise<void> {
  const { pipeline, agent, fromStep } = job;
  const { signal, mask } = deps.stepContext;
  const [first = 0] = fromStep === undefined ? [] : meantSteps(pipeline.steps, fromStep);
  for (const [index, step] of pipeline.steps.entries()) {
    if (index < first) {
      deps.send({ kind: "step-skipped", index, at: deps.now().toISOString() });
      continue;
    }
    deps.send({ kind: "step-started", index, at: deps.now().toISOString() });
    const { log, saveArtifact, flush } = deps.output.step(index);
    if (index === first && agent !== undefined) log.note(`started by the agent ${agent}`);
    const outcome = await runStep(step, job, deps.lookup, {
      ...deps.stepContext,
      log,
      saveArtifact,
    }).catch(
      // A bug in one step must not end the runner and lose the outcomes so far.
      (error: unknown) =>
        failed(
          error instanceof PatternFault ? error.message : `this step broke off: ${describeError(error)}`,
        ),
    );
    if (signal.aborted) return;
    flush();
    const at = deps.now().toISOString();
    if (outcome.kind === "failed") {
      const gone = await goneProgram(outcome.message, pipeline.steps.slice(first, index), deps);
      const message = mask.hide(`${outcome.message}${gone}`);
      deps.send({ kind: "step-stopped", index, at, status: "failed", message });
      deps.send({ kind: "finished", outcome: "failed", message: `${step.name}: ${message}` });
      return;
    }
    deps.send({ kind: "step-stopped", index, at, status: "succeeded" });
  }
  deps.send({ kind: "finished", outcome: "succeeded" });
}

/** A line for a step that found nothing to connect to, where what an earlier step started in the background has ended. */
async function goneProgram(
  message: string,
  before: readonly Step[],
  { isAnythingRunning }: RunDeps,
): Promise<string> {
  const starter = before.findLast(startsInBackground);
  if (starter === undefined || !/connection refused|ECONNREFUSED/i.test(message)) return "";
  if (await isAnythingRunning()) return "";
  return `\nwhat the step \`${starter.name}\` started in the background has ended; that step's log has what it wrote`;
}

/** Where each resource type runs its steps; `pipeline/types/resourceTypes.ts` says what a new type needs. */
async function runStep(
  step: Step,
  { pipeline: { envFile }, environment }: Job,
  lookup: Lookup,
  stepContext: StepContext,
): Promise<StepOutcome> {
  const filled = fillIn(step, lookup);
  if (filled.kind === "missing") {
    const names = filled.names.map((name) => `\`${name}\``).join(", ");
    const places = `${envFile === undefined ? "" : `in \`${envFile}\` or `}where the ${environment === undefined ? "service" : "run"} was started`;
    return failed(
      filled.names.length === 1
        ? `the environment variable ${names} isn't set ${places}`
        : `the environment variables ${names} aren't set ${places}`,
    );
  }
  if (filled.kind === "unfit") return failed(filled.problem);
  // Only what most runs need is loaded before a run begins.
  switch (filled.step.type) {
    case "browser": {
      const { runBrowserStep } = await import("./browser/runBrowserStep.ts");
      return runBrowserStep(filled.step, stepContext);
    }
    case "cli":
      return runCliStep(filled.step, stepContext);
    case "http": {
      const { runHttpStep } = await import("./http/runHttpStep.ts");
      return runHttpStep(filled.step, stepContext);
    }
    case "sql": {
      const { runSqlStep } = await import("./sql/runSqlStep.ts");
      return runSqlStep(filled.step, stepContext);
    }
    default:
      return filled.step satisfies never;
  }
}
