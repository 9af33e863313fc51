import { createHash } from "node:crypto";
import type { Disposable, LogOutputChannel } from "vscode";
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
  /** A run with its steps. @throws PipelineError when it can't be had. */
  readonly readRun: (runId: string, signal: AbortSignal) => Promise<Run>;
  readonly fingerprints: Pick<StepFingerprints, "isUnchanged">;
  readonly show: (uri: string, failed: FailedStep | undefined) => void;
  /** Called when a run's steps were read. */
  readonly onRead: () => void;
  readonly log: Pick<LogOutputChannel, "warn">;
}

const longestMessage = 300;

/**
 * Marks in each pipeline file the step at which its last run failed, until a later run succeeds or the step is edited.
 */
export class FailedSteps implements Disposable {
  readonly #deps: FailedStepsDeps;
  readonly #ended = new AbortController();
  /** The runs with steps that the files need, each read once. */
  readonly #ends = new Map<string, Run>();
  /** The runs that are still to be read. */
  #unread = new Set<string>();
  #reading: string | undefined;
  readonly #shown = new Map<string, string>();
  #list: RunListState = { kind: "unknown" };
  #files: ReadonlyMap<string, WatchedFile> = new Map();

  constructor(deps: FailedStepsDeps) {
    this.#deps = deps;
  }

  /** Takes the current runs and files; files by their address. */
  update(list: RunListState, files: ReadonlyMap<string, WatchedFile>): void {
    this.#list = list;
    this.#files = files;
    const needed = new Map<string, Run>();
    for (const [uri, file] of files) {
      const run = this.#judged(file);
      if (run !== undefined && run.status !== "succeeded") needed.set(run.runId, run);
      this.#show(uri, this.#failedOf(file));
    }
    for (const uri of [...this.#shown.keys()]) if (!files.has(uri)) this.#show(uri, undefined);
    // While the list is unknown, so is which runs are needed.
    if (list.kind === "listed") {
      for (const runId of [...this.#ends.keys()]) if (!needed.has(runId)) this.#ends.delete(runId);
    }
    const unread = [...needed.values()].filter((run) => this.#withSteps(run) === undefined);
    this.#unread = new Set(unread.map(({ runId }) => runId));
    // The run that is being read is not read twice.
    if (this.#reading !== undefined) this.#unread.delete(this.#reading);
    void this.#readOn();
  }

  /** A failed run with its steps, once they are read. */
  runWithSteps(runId: string): Run | undefined {
    return this.#ends.get(runId);
  }

  dispose(): void {
    this.#ended.abort();
  }

  #judged({ pipeline, project }: WatchedFile): Run | undefined {
    return runsOf(this.#list, pipeline, project).judged;
  }

  #failedOf(file: WatchedFile): FailedStep | undefined {
    const { pipeline, analysis } = file;
    const judged = this.#judged(file);
    if (judged === undefined || judged.status === "succeeded") return undefined;
    const run = this.#withSteps(judged);
    const failed = run && failedStep(run);
    if (failed === undefined) return undefined;
    const { outline, parsed, text } = analysis;
    const { step, index } = failed;
    const there = findStep(outline, parsed, { name: step.name, index });
    if (there === undefined) return undefined;
    const { start, end } = there.span;
    if (!this.#deps.fingerprints.isUnchanged(judged.runId, text.slice(start, end))) return undefined;
    const lineEnd = text.indexOf("\n", start);
    const line = there.name ?? { start, end: lineEnd === -1 ? end : Math.min(end, lineEnd) };
    const why = step.message ?? judged.reason ?? judged.status;
    return {
      runId: judged.runId,
      pipeline,
      message: shortText(`${step.name}: ${why}`, longestMessage),
      from: positionAt(text, line.start),
      to: positionAt(text, line.end),
    };
  }

  #withSteps(run: Run): Run | undefined {
    const isTold = run.steps?.some(({ status }) => status === "failed") === true;
    return isTold ? run : this.#ends.get(run.runId);
  }

  /** One after the other, so that many failures don't crowd the service. */
  async #readOn(): Promise<void> {
    if (this.#reading !== undefined) return;
    do {
      const [runId] = this.#unread;
      this.#reading = runId;
      if (runId === undefined) return;
      this.#unread.delete(runId);
      await this.#read(runId);
    } while (!this.#ended.signal.aborted);
  }

  async #read(runId: string): Promise<void> {
    try {
      const run = await this.#deps.readRun(runId, this.#ended.signal);
      if (this.#ended.signal.aborted) return;
      this.#ends.set(runId, run);
      for (const [uri, file] of this.#files) {
        if (this.#judged(file)?.runId === runId) this.#show(uri, this.#failedOf(file));
      }
      this.#deps.onRead();
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      // Read again at the run's next event.
      this.#deps.log.warn(`The steps of ${runId} could not be read: ${describeError(error)}`);
    }
  }

  #show(uri: string, failed: FailedStep | undefined): void {
    const told = JSON.stringify(failed);
    if (this.#shown.get(uri) === told) return;
    if (failed === undefined) this.#shown.delete(uri);
    else this.#shown.set(uri, told);
    this.#deps.show(uri, failed);
  }
}

/** What the editor keeps for a workspace. */
interface Store {
  get(name: string): unknown;
  update(name: string, value: unknown): Thenable<void>;
}

const key = "failedSteps";
const kept = 100;
/** The runs' ids and the marks of their steps, latest first. */
const marksSchema = z.catch(z.array(z.tuple([z.string(), z.string()])), []);

/**
 * Remembers the failed step's text, as a hash, when the failure was first shown, so that an edited step is not blamed
 * any more, also after a reload.
 */
export class StepFingerprints {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether the step's text is the same as when this was first asked of the run. */
  isUnchanged(runId: string, text: string): boolean {
    const mark = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    const marks = marksSchema.parse(this.#store.get(key));
    const known = marks.find(([id]) => id === runId);
    if (known !== undefined) return known[1] === mark;
    void this.#store.update(key, [[runId, mark], ...marks].slice(0, kept));
    return true;
  }
}
