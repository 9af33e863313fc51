import { t } from "@vscode/l10n";
import type { Command } from "vscode";
import { inputsForRerun } from "../../contract/pipelines.ts";
import type { Run } from "../../contract/run.ts";
import { failedStep, isActive } from "../../contract/runStatus.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import { stepToResumeAt } from "../../pipeline/stepToResumeAt.ts";
import type { RunListState } from "../session/runList.ts";
import type { Wait } from "../start/waitNotice.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { shortText, statusText } from "../window/runText.ts";

/** A code lens above the file's first line. */
type Lens = Required<Command>;

interface LensState {
  readonly pipeline: string;
  readonly project: string;
  /** The file on this machine: the project's folder, and the file's path in it with forward slashes. */
  readonly file: { readonly root: string; readonly path: string } | undefined;
  readonly problems: number;
  readonly runs: PipelineRuns;
  /** The pipeline in the file now; undefined if it has problems. */
  readonly pipelineNow: Pipeline | undefined;
  readonly wait: Wait | undefined;
  /** On the service's clock, in milliseconds since 1970. */
  readonly now: number;
}

const longestName = 60;

/** The code lenses of a pipeline file: run, cancel, and its last result. */
export function lensesOf(state: LensState): readonly Lens[] {
  const { runs } = state;
  const last = runs.last === undefined ? [] : [lastLens(runs.last, state.now)];
  const problems = state.problems === 0 ? [] : [problemsLens(state.problems)];
  const mayRun = runs.active === undefined && state.wait === undefined && state.problems === 0;
  const from = mayRun ? fromStepLens(runs.last, state) : [];
  return [...workLenses(state), ...last, ...from, ...problems];
}

function workLenses(state: LensState): readonly Lens[] {
  const { pipeline, project, problems, file, runs, wait, pipelineNow } = state;
  if (runs.active !== undefined) {
    const { runId, status } = runs.active;
    const log = {
      title: status === "cancelling" ? t("$(loading~spin) cancelling") : t("$(loading~spin) running"),
      tooltip: t("Open the run's log"),
      command: "pipelineRuns.openLog",
      arguments: [{ runId }],
    };
    if (status === "cancelling") return [log];
    const cancel = {
      title: t("$(debug-stop) Cancel"),
      tooltip: t("Cancel the active run of {0}", pipeline),
      command: "pipelineRuns.cancel",
      arguments: [{ runId }],
    };
    return [cancel, log];
  }
  const run = {
    title: t("$(play) Run"),
    tooltip: t("Start a run of {0}", pipeline),
    command: "pipelineRuns.run",
    arguments: [{ pipeline, project, ...file }],
  };
  const withInputs = {
    ...run,
    title: t("Run with Inputs…"),
    tooltip: t("Start a run of {0}, and be asked for each of its inputs", pipeline),
    command: "pipelineRuns.runWithInputs",
  };
  const hasInputs = pipelineNow?.inputs !== undefined && pipelineNow.inputs.length > 0;
  // A file with problems can't be run.
  if (wait === undefined) return problems > 0 ? [] : hasInputs ? [run, withInputs] : [run];
  const waiting = {
    title: t("$(watch) waiting; gives up in {0} s", wait.secondsLeft),
    tooltip: t("Another run holds the slot. To stop waiting, use the notification."),
    command: "notifications.showList",
    arguments: [],
  };
  return [waiting];
}

function fromStepLens(last: Run | undefined, { project, pipelineNow }: LensState): readonly Lens[] {
  const failed = last && stepToResumeAt(last, pipelineNow);
  if (last?.pipeline === undefined || failed === undefined) return [];
  const name = withoutIcons(shortText(failed.step.name, longestName));
  return [
    {
      title: t("$(debug-continue) Run from {0}", name),
      tooltip: t("Start a new run, one of today's, without the steps before {0}", name),
      command: "pipelineRuns.run",
      arguments: [
        { pipeline: last.pipeline, project, fromStep: failed.fromStep, inputs: inputsForRerun(last) },
      ],
    },
  ];
}

function lastLens(run: Run, now: number): Lens {
  return {
    title: `${iconOf(run.status)} ${resultText(run, now)}`,
    tooltip: t("Open the log of the last run"),
    command: "pipelineRuns.openLog",
    arguments: [{ runId: run.runId }],
  };
}

function resultText(run: Run, now: number): string {
  const ago = run.stoppedAt === undefined ? "" : agoText(now - Date.parse(run.stoppedAt));
  const status = withoutIcons(shortText(statusText(run.status), longestName));
  const failed = failedStep(run)?.step.name;
  if (failed !== undefined) {
    return t("{0} {1}: {2}", status, ago, withoutIcons(shortText(failed, longestName)));
  }
  return t("{0} {1}", status, ago);
}

function iconOf(status: string): string {
  if (status === "succeeded") return "$(pass)";
  return ["failed", "timed-out", "lost"].includes(status) ? "$(error)" : "$(circle-slash)";
}

/** A past time, in one unit. */
function agoText(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return t("just now");
  if (minutes < 60) return t("{0} min ago", minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return t("{0} h ago", hours);
  return t("{0} d ago", Math.floor(hours / 24));
}

function problemsLens(count: number): Lens {
  return {
    title: count === 1 ? t("$(warning) 1 problem") : t("$(warning) {0} problems", count),
    tooltip: t("Show the problems of this file"),
    command: "workbench.actions.view.problems",
    arguments: [],
  };
}

/** One pipeline's runs in the list; undefined if the list has none. */
export interface PipelineRuns {
  /** Its newest active run. */
  readonly active: Run | undefined;
  /** Its newest stopped run. */
  readonly last: Run | undefined;
  /** Its newest run that ended by itself, and so shows whether the pipeline works. */
  readonly judged: Run | undefined;
}

/** A project's start that waits for a slot. One that names no project may belong to any. */
export function waitOf(waits: readonly Wait[], pipeline: string, project: string): Wait | undefined {
  return waits.find((wait) => wait.pipeline === pipeline && (wait.project ?? project) === project);
}

/** @param project the service's name of the project. */
export function runsOf(state: RunListState, pipeline: string, project: string): PipelineRuns {
  const runs = state.kind === "listed" ? state.runs : [];
  const own = runs.filter((run) => run.pipeline === pipeline && run.project === project);
  return {
    active: own.find(isActive),
    last: own.find((run) => !isActive(run)),
    judged: own.find(({ status }) => ["succeeded", "failed", "timed-out"].includes(status)),
  };
}
