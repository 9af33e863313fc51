import { hash } from "node:crypto";
import type { LogOutputChannel, Memento } from "vscode";
import * as z from "zod/mini";
import { describeError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { failedStep } from "../../contract/runStatus.ts";
import { findStep } from "../../pipeline/editing/outline.ts";
import type { RunListState } from "../session/runList.ts";
import { shortText } from "../window/runText.ts";
import { type Analysis, positionAt, type TextPosition } from "./analyses.ts";
import { runsOf } from "./lenses.ts";

/** The step of a pipeline file at which its last run failed. */
export interface FailedStep {
  readonly runId: string;
  readonly pipeline: string;
  readonly message: string;
  readonly from: TextPosition;
  readonly to: TextPosition;
}

interface WatchedFile {
  /** The pipeline's name, and the service's name of its project. */
  readonly pipeline: string;
  readonly project: string;
  readonly analysis: Analysis;
}

export interface FailedStepsDeps {
  /** Reads a run's steps into the list, which then emits a change. @throws PipelineError if they can't be read. */
  readonly readSteps: (runId: string, signal: AbortSignal) => Promise<void>;
  readonly memento: Pick<Memento, "get" | "update">;
  readonly show: (uri: string, failed: FailedStep | undefined) => void;
  readonly log: Pick<LogOutputChannel, "warn">;
}

const longestMessage = 300;

/** Marks in each pipeline file the step at which its last run failed, until a later run succeeds or the step is edited. */
export function failedSteps({ readSteps, memento, show, log }: FailedStepsDeps) {
  const ended = new AbortController();
  const { signal } = ended;
  /** The runs whose steps were requested, so that each is read once. */
  const requested = new WeakSet<Run>();
  let reading = Promise.resolve();
  const shown = new Map<string, string>();
  const read = async (run: Run) => {
    if (signal.aborted) return;
    try {
      await readSteps(run.runId, signal);
    } catch (error) {
      if (signal.aborted) return;
      // Read again at the list's next change.
      requested.delete(run);
      log.warn(`The steps of ${run.runId} could not be read: ${describeError(error)}`);
    }
  };
  /** Reads the steps of one run after the other, so that many failures don't burden the service. */
  const wantSteps = (run: Run) => {
    if (run.steps !== undefined || requested.has(run)) return;
    requested.add(run);
    reading = reading.then(() => read(run));
  };
  const showOnce = (uri: string, failed: FailedStep | undefined) => {
    const told = JSON.stringify(failed);
    if (shown.get(uri) === told) return;
    if (failed === undefined) shown.delete(uri);
    else shown.set(uri, told);
    show(uri, failed);
  };
  return {
    /** Takes the current runs and the files by address. */
    update: (list: RunListState, files: ReadonlyMap<string, WatchedFile>): void => {
      for (const [uri, file] of files) {
        const run = runsOf(list, file.pipeline, file.project).judged;
        const isFailed = run !== undefined && run.status !== "succeeded";
        if (isFailed) wantSteps(run);
        showOnce(uri, isFailed ? failedOf(file, run, memento) : undefined);
      }
      for (const uri of [...shown.keys()]) if (!files.has(uri)) showOnce(uri, undefined);
    },
    dispose: () => ended.abort(),
  };
}

function failedOf(
  { pipeline, analysis }: WatchedFile,
  run: Run,
  memento: FailedStepsDeps["memento"],
): FailedStep | undefined {
  const failed = failedStep(run);
  if (failed === undefined) return undefined;
  const { outline, parsed, text } = analysis;
  const { step, index } = failed;
  const there = findStep(outline, parsed, { name: step.name, index });
  if (there === undefined) return undefined;
  const { start, end } = there.span;
  if (!isUnchanged(memento, run.runId, text.slice(start, end))) return undefined;
  const lineEnd = text.indexOf("\n", start);
  const line = there.name ?? { start, end: lineEnd === -1 ? end : Math.min(end, lineEnd) };
  const why = step.message ?? run.reason ?? run.status;
  return {
    runId: run.runId,
    pipeline,
    message: shortText(`${step.name}: ${why}`, longestMessage),
    from: positionAt(text, line.start),
    to: positionAt(text, line.end),
  };
}

const key = "failedSteps";
const kept = 100;
/** The runs' ids and the hashes of their failed steps, latest first. */
const marksSchema = z.catch(z.array(z.tuple([z.string(), z.string()])), []);

/**
 * Whether the failed step's text is the same as when this was first asked for the run, so that an edited step isn't blamed any
 * more. A hash of the text is kept, even across a reload.
 */
function isUnchanged(memento: FailedStepsDeps["memento"], runId: string, text: string): boolean {
  const mark = hash("sha256", text, "base64url").slice(0, 16);
  const marks = marksSchema.parse(memento.get(key));
  const known = marks.find(([id]) => id === runId);
  if (known !== undefined) return known[1] === mark;
  void memento.update(key, [[runId, mark], ...marks].slice(0, kept));
  return true;
}
