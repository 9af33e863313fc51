import type { StepOutput } from "../../../src/runner/launch/messages.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { endLeftovers } from "../../../src/runner/processes/endProcesses.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { StepLogWriter } from "../../../src/runner/step/runOutput.ts";
import { type NewArtifact, SharedResources, type StepContext } from "../../../src/runner/step/stepContext.ts";
import { stepEnvironment } from "../../../src/runner/step/stepEnvironment.ts";
import { runnerPath } from "../../service/programs.ts";
import { newRunId } from "../launch/launchTestRun.ts";

/** What a step runs with when a test runs it in its own process; `end` ends what the step left running or open. */
export interface TestStepContext {
  readonly stepContext: StepContext;
  readonly end: () => Promise<void>;
  /** What the step's log and its artifacts hold so far; a note's line begins with `# `. */
  readonly logged: () => string;
  readonly kept: readonly NewArtifact[];
  /** The pieces of the log as they were told. */
  readonly outputs: readonly StepOutput[];
}

export function stepContextFor(root: string, changes: Partial<StepContext> = {}): TestStepContext {
  const runId = newRunId();
  const kept: NewArtifact[] = [];
  const outputs: StepOutput[] = [];
  const shared = new SharedResources();
  const mask = changes.mask ?? new Mask([]);
  const log = new StepLogWriter(0, {
    send: (sent) => outputs.push(...sent),
    now: () => new Date(),
    mask,
    use: { bytes: 0 },
  });
  return {
    kept,
    outputs,
    logged: () => {
      log.flush();
      return outputs
        .map(({ stream, text }) => (stream === "note" ? text.replace(/^(?=.)/gm, "# ") : text))
        .join("");
    },
    stepContext: {
      root,
      environment: stepEnvironment(process.env, { runId }),
      platform: process.platform,
      node: process.execPath,
      program: { execPath: process.execPath, path: runnerPath },
      mask,
      log: {
        write: (stream, text) => log.write(stream, text),
        note: (line) => log.note(line),
        waitFor: () => {},
      },
      results: { isNeeded: false, isSecret: false, take: () => {}, problems: () => [] },
      saveArtifact: (artifact) => void kept.push(artifact),
      shared,
      signal: new AbortController().signal,
      onSpawned: () => {},
      onBackground: () => {},
      ...changes,
    },
    end: async () => {
      await shared[Symbol.asyncDispose]();
      await endLeftovers(
        { runId, runner: undefined },
        { processes: processTable(process.platform), graceMilliseconds: 0 },
      );
    },
  };
}
