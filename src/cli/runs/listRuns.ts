import { listRuns as listNewest, type WantedRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { duration } from "../../contract/time.ts";
import { table } from "../output/table.ts";
import { statusText } from "../terminal/marks.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/** Which runs a person asks for. */
export interface AskedRuns extends Omit<WantedRuns, "me"> {
  /** Only runs that the caller's key started. */
  readonly mine?: boolean;
}

/** `pipeline runs list`: the org's runs, newest first. */
export async function listRuns(tool: Tool, asked: AskedRuns): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  // Whose runs they are is told to people only.
  const isForPeople = output.out.isTerminal && !output.json;
  const wanted = await withMe(client, asked, interrupted);
  const [{ runs, next, lookedThrough }, org] = await Promise.all([
    listNewest(client, wanted, interrupted),
    isForPeople ? client.org(interrupted) : undefined,
  ]);
  const text = isForPeople
    ? runTable(runs, output.out, { me: org?.actor, now: client.clock.now() })
    : runLines(runs);
  if (lookedThrough !== undefined) {
    output.warn(
      `the service doesn't choose runs by itself, and only ${lookedThrough} were looked through: older ones may be like that too.`,
    );
  }
  output.result("runs list", { runs, ...(next === undefined ? {} : { next }) }, text);
  if (runs.length === 0 && lookedThrough === undefined && !output.json) output.note(noneText(asked));
  return 0;
}

/** The same with the id of the caller's key, where only its runs are asked for. */
export async function withMe(
  client: ServiceClient,
  { mine = false, ...asked }: AskedRuns,
  signal: AbortSignal,
): Promise<WantedRuns> {
  return mine ? { ...asked, me: (await client.org(signal)).actor } : asked;
}

function noneText({ statuses, pipeline, project, mine = false }: AskedRuns): string {
  if (statuses.length === 1 && statuses[0] === "in-work" && pipeline === undefined && !mine) {
    return "No run is in work.";
  }
  const isFiltered = statuses.length > 0 || pipeline !== undefined || project !== undefined || mine;
  return isFiltered ? "No run is like that." : "No runs yet.";
}

interface RunTableOptions {
  /** The id of the key that asks; undefined where it isn't known or wanted. */
  readonly me: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Runs as a person reads them: within the terminal's width, with no column that says the same of all of them. */
export function runTable(runs: readonly Run[], terminal: Terminal, { me, now }: RunTableOptions): string {
  if (runs.length === 0) return "";
  const hasProjects = new Set(runs.map(({ project }) => project)).size > 1;
  const hasOthers = me !== undefined && runs.some(({ actor }) => actor !== undefined && actor !== me);
  const columns: Column[] = [
    { head: "ID", cell: ({ runId }) => runId },
    { head: "STATUS", cell: ({ status }) => statusText(status, terminal) },
    { head: "PIPELINE", cell: ({ pipeline }) => pipeline },
    { head: "PROJECT", cell: ({ project }) => (hasProjects ? project : undefined) },
    { head: "STARTED", cell: ({ createdAt }) => createdAt && ago(createdAt, now) },
    { head: "TOOK", cell: (run) => took(run, now) || undefined },
    {
      head: "BY",
      cell: ({ actor }) => (hasOthers && actor ? (actor === me ? "you" : "another key") : undefined),
    },
  ];
  // A column that nothing is told in is none.
  const told = columns.filter(({ cell }) => runs.some((run) => cell(run) !== undefined));
  const { dim } = terminal.style;
  const rows = runs.map((run) => told.map(({ cell }) => cell(run) ?? ""));
  const cut = told.findIndex(({ head }) => head === "PIPELINE");
  const ellipsis = terminal.hasUnicode ? "…" : "...";
  return table([told.map(({ head }) => dim(head)), ...rows], {
    columns: terminal.columns,
    ellipsis,
    ...(cut === -1 ? {} : { cut }),
  });
}

interface Column {
  readonly head: string;
  /** @returns undefined where the run doesn't tell. */
  readonly cell: (run: Run) => string | undefined;
}

/**
 * The same for scripts that don't read JSON: a run a line, its facts apart by tabs and whole. More facts may come at the end:
 * run id, status, pipeline, project, when it started and stopped, and the key that started it; nothing where it isn't told.
 */
export function runLines(runs: readonly Run[]): string {
  return runs
    .map(({ runId, status, pipeline, project, createdAt, stoppedAt, actor }) =>
      [runId, status, pipeline, project, createdAt, stoppedAt, actor].join("\t"),
    )
    .join("\n");
}

/** How long a run took, or has taken so far; empty where that isn't told. */
export function took(run: Run, now: number): string {
  if (run.createdAt === undefined) return "";
  const began = Date.parse(run.createdAt);
  if (run.stoppedAt !== undefined) return duration(Date.parse(run.stoppedAt) - began);
  return isActive(run) ? `${duration(Math.max(0, now - began))} so far` : "";
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How long ago an instant was, in as many words as a table has room for: `now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`,
 * and its day where that was long ago. Two clocks may differ, so what lies ahead is `now` too.
 *
 * @param now in milliseconds since 1970, as `instant` is when parsed.
 */
export function ago(instant: string, now: number): string {
  const passed = now - Date.parse(instant);
  if (passed < 1000) return "now";
  if (passed < minute) return `${Math.floor(passed / 1000)} s ago`;
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  if (passed < day) return `${Math.floor(passed / hour)} h ago`;
  if (passed < 30 * day) return `${Math.floor(passed / day)} d ago`;
  return new Date(instant).toISOString().slice(0, 10);
}
