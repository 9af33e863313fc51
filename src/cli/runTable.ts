import { duration } from "../contract/duration.ts";
import { isInWork } from "../contract/isInWork.ts";
import type { Run } from "../contract/run.ts";
import { ago } from "./ago.ts";
import { statusText } from "./statusLook.ts";
import { table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface RunTableOptions {
  /** The id of the key that asks; undefined where it isn't known or wanted. */
  readonly me: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Runs as a person reads them: within the terminal's width, with no column that says the same of all of them. */
export function runTable(runs: readonly Run[], terminal: Terminal, { me, now }: RunTableOptions): string {
  if (runs.length === 0) return "";
  const hasProjects = new Set(runs.map(({ project }) => project)).size > 1;
  const hasOthers = me !== undefined && runs.some(({ actor }) => actor !== me);
  const head = ["ID", "STATUS", "PIPELINE", ...(hasProjects ? ["PROJECT"] : []), "STARTED", "TOOK"];
  const rows = runs.map((run) => [
    run.runId,
    statusText(run.status, terminal),
    run.pipeline,
    ...(hasProjects ? [run.project] : []),
    ago(run.createdAt, now),
    took(run, now),
    ...(hasOthers ? [run.actor === me ? "you" : "another key"] : []),
  ]);
  const { dim } = terminal.style;
  const heads = [...head, ...(hasOthers ? ["BY"] : [])].map((word) => dim(word));
  const ellipsis = terminal.hasUnicode ? "…" : "...";
  return table([heads, ...rows], { columns: terminal.columns, cut: 2, ellipsis });
}

/**
 * The same for scripts that don't read JSON: a run a line, its facts apart by tabs and whole. More facts may come at the end:
 * run id, status, pipeline, project, when it started and stopped, and the key that started it.
 */
export function runLines(runs: readonly Run[]): string {
  return runs
    .map(({ runId, status, pipeline, project, createdAt, stoppedAt = "", actor }) =>
      [runId, status, pipeline, project, createdAt, stoppedAt, actor].join("\t"),
    )
    .join("\n");
}

/** How long a run took, or has taken so far. */
export function took(run: Run, now: number): string {
  const began = Date.parse(run.createdAt);
  if (run.stoppedAt !== undefined) return duration(Date.parse(run.stoppedAt) - began);
  return isInWork(run) ? `${duration(Math.max(0, now - began))} so far` : "";
}
