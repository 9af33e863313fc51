import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { RunStep } from "../../../src/contract/run.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { type LaunchDeps, launchRunner, type RunningJob } from "../../../src/runner/launch/launch.ts";
import type { RunValues, SavedArtifact, StepOutput } from "../../../src/runner/launch/messages.ts";
import type { RunnerJob } from "../../../src/runner/launch/protocol.ts";
import { ReadyRunner, type RunnerProgram } from "../../../src/runner/launch/readyRunner.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { runnerPath } from "../../service/programs.ts";

export type LaunchChanges = Partial<LaunchDeps & RunnerProgram>;

export interface TestRun {
  readonly runId: string;
  readonly job: RunningJob;
  /** What the launcher told, in order. */
  readonly told: { readonly index: number; readonly step: RunStep }[];
  readonly outputs: StepOutput[];
  readonly artifacts: SavedArtifact[];
  /** Its inputs and outputs. */
  readonly kept: RunValues[];
}

export function launchTestRun(
  root: string,
  pipeline: Pipeline,
  changes: LaunchChanges = {},
  artifactsFolder = join(root, "artifacts"),
  more: Partial<RunnerJob> = {},
): TestRun {
  const told: TestRun["told"] = [];
  const outputs: StepOutput[] = [];
  const artifacts: SavedArtifact[] = [];
  const kept: RunValues[] = [];
  const runId = newRunId();
  const processes = processTable(process.platform);
  const program = { execPath: process.execPath, runnerPath, env: process.env, processes, ...changes };
  const job = launchRunner(
    { runId, root, pipeline, artifactsFolder, ...more },
    {
      runners: new ReadyRunner(program, systemClock),
      graceMilliseconds: 5000,
      processes,
      now: () => new Date(),
      onStep: (step, index) => told.push({ index, step }),
      onOutput: (output) => outputs.push(output),
      onArtifact: (artifact) => artifacts.push(artifact),
      onValues: (values) => kept.push(values),
      ...changes,
    },
  );
  return { runId, job, told, outputs, artifacts, kept };
}

export function newRunId(): string {
  return `run_${randomUUID()}`;
}

/** A pipeline of shell steps, each as it would stand in a file. */
export function shellPipeline(...lines: readonly string[]): Pipeline {
  return pipelineOf({ resources: { sh: { type: "cli" } }, steps: lines.map((run) => ({ use: "sh", run })) });
}

export function pipelineOf(file: unknown): Pipeline {
  const parsed = parsePipeline(JSON.stringify(file), "test.yaml");
  if (parsed.kind === "invalid") assert.fail(JSON.stringify(parsed.problems));
  return parsed.pipeline;
}
