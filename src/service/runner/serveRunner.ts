import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { Environment } from "../../client/environment.ts";
import { Mask } from "./mask.ts";
import { endProcesses } from "./processes/endProcesses.ts";
import type { ProcessTable } from "./processes/processTable.ts";
import { newTraces } from "./processes/processTable.ts";
import { scanRepeatedly } from "./processes/scanRepeatedly.ts";
import { type Job, jobSchema, type Message, readLines } from "./protocol.ts";
import { RunOutput } from "./runOutput.ts";
import { runSteps } from "./runSteps.ts";
import { removeScratch } from "./scratchFolder.ts";
import { SharedResources } from "./stepContext.ts";
import { nodeOnPath, referencedNames, stepEnvironment, variable } from "./stepEnvironment.ts";

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
  const { firstLine, cut } = lifeline(deps.input);
  const line = await firstLine;
  if (line === undefined) return;
  const job = jobSchema.parse(JSON.parse(line));
  const signal = AbortSignal.any([cut, deps.ended]);
  const write = (message: Message): void => {
    deps.output.write(`${JSON.stringify(message)}\n`);
  };
  // Before anything starts, so that every process of the run starts inside it.
  const cgroup =
    job.cgroup !== undefined && deps.processes.cgroups?.enter(job.cgroup) ? job.cgroup : undefined;
  const traces = newTraces(job.runId, deps.pid, cgroup);
  using scans = scanRepeatedly(async () => {
    const before = [...traces.groups];
    await deps.processes.scan?.(traces);
    for (const pid of before) if (!traces.groups.has(pid)) write({ kind: "vacated", pid });
  });
  const send = (message: Message): void => {
    write(message);
    if (message.kind === "spawned") traces.groups.add(message.pid);
    scans.look();
  };
  // Ignored: the service is gone then, and the closed input ends the run.
  deps.output.on("error", () => {});
  const own = stepEnvironment(deps.environment, job.runId);
  const { environment, dispose } = await nodeOnPath(own, deps.execPath, deps.platform);
  const mask = new Mask(secretsOf(job, environment, deps.platform));
  const { artifactsFolder } = job;
  const output = new RunOutput({ send: write, now: deps.now, mask, artifactsFolder });
  const isEnded = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const shared = new SharedResources();
  try {
    const running = runSteps(job.pipeline, {
      stepContext: {
        root: job.root,
        environment,
        platform: deps.platform,
        program: { execPath: deps.execPath, path: deps.programPath },
        mask,
        shared,
        signal,
        onSpawned: (pid) => send({ kind: "spawned", pid }),
      },
      output,
      lookup: (name) => variable(environment, name, deps.platform),
      send,
      now: deps.now,
    });
    await Promise.race([running, isEnded]);
  } finally {
    const { processes, pid } = deps;
    await Promise.all([
      endProcesses({ processes, run: traces, graceMilliseconds: job.graceMilliseconds, spare: pid }),
      // A server that no longer answers must not keep the run from ending.
      Promise.race([shared[Symbol.asyncDispose](), pause(job.graceMilliseconds, undefined, { ref: false })]),
    ]);
    await output.end();
    await Promise.all([dispose(), removeScratch(job.runId)]);
    if (cgroup !== undefined) await processes.cgroups?.remove(cgroup);
  }
}

function secretsOf(job: Job, environment: Environment, platform: NodeJS.Platform): string[] {
  return [...referencedNames(job.pipeline.steps)].flatMap(
    (name) => variable(environment, name, platform) ?? [],
  );
}

/** The pipe from the service. It carries one line, and the run has to end when it closes. */
interface Lifeline {
  /** The job's line; undefined when the pipe closed before it arrived. */
  readonly firstLine: Promise<string | undefined>;
  readonly cut: AbortSignal;
}

function lifeline(input: Readable): Lifeline {
  const cutting = new AbortController();
  const line = Promise.withResolvers<string | undefined>();
  readLines(input, line.resolve);
  const close = () => {
    cutting.abort();
    line.resolve(undefined);
  };
  input.once("end", close);
  input.once("error", close);
  input.once("close", close);
  return { firstLine: line.promise, cut: cutting.signal };
}
