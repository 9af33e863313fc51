import { describeError } from "../../contract/errors.ts";
import { english, refusalLines } from "../../text/refusalText.ts";
import { type ReportedRun, reportedRun } from "../report/reportedRuns.ts";
import type { Reports } from "../report/reports.ts";
import type { RunTerminal } from "../tool.ts";
import type { Outcome } from "./batch.ts";
import { describeOutcome } from "./conclude.ts";

/** The reports of what came of a command's pipelines, written once; nothing where none are wanted. */
export class OutcomeReport {
  readonly #tool: RunTerminal;
  #reports: Reports | undefined;
  /** Whether a report could not be written. */
  hasFailed = false;

  constructor(tool: RunTerminal, reports: Reports | undefined) {
    this.#tool = tool;
    this.#reports = reports;
  }

  async write(outcomes: readonly Outcome[]): Promise<void> {
    const reports = this.#reports;
    if (reports === undefined) return;
    this.#reports = undefined;
    const runs: ReportedRun[] = [];
    for (const outcome of outcomes) runs.push(await this.#reported(outcome));
    this.hasFailed = !(await reports.write(runs));
  }

  async #reported(outcome: Outcome): Promise<ReportedRun> {
    // After the first Ctrl-C, the log of the cancelled run is still read.
    const { leaving } = this.#tool;
    switch (outcome.kind) {
      case "run":
        return outcome.isFollowed
          ? reportedRun(this.#tool, outcome.run, leaving)
          : reportedRun(this.#tool, outcome.run, leaving, "The service doesn't report how the run ends.");
      case "follow-failed":
        return reportedRun(this.#tool, outcome.run, leaving, describeOutcome(outcome));
      case "refused": {
        const { start } = outcome;
        const { reason } = refusalLines([start], { now: Date.now(), runsPerDay: undefined }, english);
        return withoutRun(start.pipeline, reason);
      }
      case "not-started": {
        const { pipeline, error } = outcome;
        return withoutRun(pipeline, error === undefined ? describeOutcome(outcome) : describeError(error));
      }
      case "abandoned":
        return withoutRun(outcome.pipeline, describeOutcome(outcome));
    }
  }
}

function withoutRun(pipeline: string, problem: string): ReportedRun {
  return { pipeline, run: undefined, problem, logs: new Map() };
}
