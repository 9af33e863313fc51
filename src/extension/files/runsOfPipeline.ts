import { isInWork, type Run } from "../../contract/run.ts";
import { unshown } from "../../contract/unshown.ts";
import type { RunListState } from "../runList.ts";

/** What the list of runs tells of one pipeline. Undefined is what it doesn't tell. */
export interface PipelineRuns {
  /** The newest of its runs that is in work. */
  readonly inWork: Run | undefined;
  /** The newest of its runs that has stopped. */
  readonly last: Run | undefined;
  /** The newest of its runs that says whether the pipeline works: it came to its end by itself. */
  readonly judged: Run | undefined;
}

/** @param project as the service calls it. */
export function runsOf(state: RunListState, pipeline: string, project: string): PipelineRuns {
  const runs = state.kind === "listed" ? state.runs : [];
  const own = runs.filter((run) => run.pipeline === pipeline && run.project === project);
  return {
    inWork: own.find(isInWork),
    last: own.find((run) => !isInWork(run)),
    judged: own.find(({ status }) => ["succeeded", "failed", "timed-out"].includes(status)),
  };
}

const hidden = new RegExp(`[\\s${unshown}]+`, "gu");

/** A text from a run on one line, without what could drive or disguise a screen, and at most so many characters of it. */
export function shortText(text: string, longest: number): string {
  const line = text.replace(hidden, " ").trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
