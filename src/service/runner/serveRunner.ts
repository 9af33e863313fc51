import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { Mask } from "./mask.ts";
import { endProcesses } from "./processes/endProcesses.ts";
import { keepGlancing } from "./processes/keepGlancing.ts";
import type { ProcessTable } from "./processes/processTable.ts";
import { newTraces } from "./processes/processTable.ts";
import { type Job, jobSchema, type Message, readLines } from "./protocol.ts";
import { RunRecord } from "./runOutput.ts";
import { runPipeline } from "./runSteps.ts";
import { removeScratch } from "./scratchFolder.ts";
import { Shared } from "./stepContext.ts";
import {
  type Environment,
  nodeOnPath,
  referencedNames,
  stepEnvironment,
  variable,
} from "./stepEnvironment.ts";

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
  /** Aborted when this process is asked to end. */
  readonly ended: AbortSignal;
}

/**
 * Runs the one job that comes down `input`. Resolves when every process of the run but this one is gone, whether the
 * run went to its end or was ended by the lifeline's end.
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
  // Before anything is started, so that everything is born inside it.
  const cgroup =
    job.cgroup !== undefined && deps.processes.cgroups?.enter(job.cgroup) ? job.cgroup : undefined;
  const traces = newTraces(job.runId, deps.pid, cgroup);
  using glancing = keepGlancing(async () => {
    const before = [...traces.groups];
    await deps.processes.glance?.(traces);
    for (const pid of before) if (!traces.groups.has(pid)) write({ kind: "vacated", pid });
  });
  const tell = (message: Message): void => {
    write(message);
    if (message.kind === "spawned") traces.groups.add(message.pid);
    glancing.look();
  };
  // When the service is gone nobody reads any more; the lifeline's end says so too, and ends the run.
  deps.output.on("error", () => {});
  const own = stepEnvironment(deps.environment, job.runId);
  const { environment, dispose } = await nodeOnPath(own, deps.execPath, deps.platform);
  const mask = new Mask(secretsOf(job, environment, deps.platform));
  const { artifactsFolder } = job;
  const record = new RunRecord({ tell: write, now: deps.now, mask, artifactsFolder });
  const isEnded = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const shared = new Shared();
  try {
    await Promise.race([runJob(job, { deps, environment, mask, record, shared, signal, tell }), isEnded]);
  } finally {
    const { processes, pid } = deps;
    await Promise.all([
      endProcesses({ processes, run: traces, graceMilliseconds: job.graceMilliseconds, spare: pid }),
      // A server that doesn't answer any more must not keep the run from ending.
      Promise.race([shared[Symbol.asyncDispose](), pause(job.graceMilliseconds, undefined, { ref: false })]),
    ]);
    await record.end();
    await Promise.all([dispose(), removeScratch(job.runId)]);
    if (cgroup !== undefined) await processes.cgroups?.remove(cgroup);
  }
}

interface Surroundings {
  readonly deps: RunnerDeps;
  readonly environment: Readonly<Record<string, string>>;
  readonly mask: Mask;
  readonly record: RunRecord;
  readonly shared: Shared;
  readonly signal: AbortSignal;
  readonly tell: (message: Message) => void;
}

async function runJob(job: Job, around: Surroundings): Promise<void> {
  const { deps, environment, mask, record, shared, signal, tell } = around;
  await runPipeline(job.pipeline, {
    surroundings: {
      root: job.root,
      environment,
      platform: deps.platform,
      program: { execPath: deps.execPath, path: deps.programPath },
      mask,
      shared,
      signal,
      onSpawned: (pid) => tell({ kind: "spawned", pid }),
    },
    record,
    lookup: (name) => variable(environment, name, deps.platform),
    tell,
    now: deps.now,
  });
}

function secretsOf(job: Job, environment: Environment, platform: NodeJS.Platform): string[] {
  return [...referencedNames(job.pipeline.steps)].flatMap(
    (name) => variable(environment, name, platform) ?? [],
  );
}

/** The pipe from the service: one line comes down it, and its end means that the run has to end. */
interface Lifeline {
  /** The job's line; undefined when the pipe ended before there was one. */
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
