import { listRuns as listNewest, type WantedRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { listedReason, type Run, reasonLine } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { tookText } from "../../text/time.ts";
import { marksOf, statusText, type Terminal, table, widthOf } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/** The filters of the command line. */
export interface AskedRuns extends Omit<WantedRuns, "me"> {
  readonly mine?: boolean;
}

/** `pipeline runs list`: the org's runs, newest first. */
export async function listRuns(tool: Tool, asked: AskedRuns): Promise<void> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  // Only the table shows who started a run.
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
      `the service doesn't filter runs, and only ${lookedThrough} were checked: older ones may match, too.`,
    );
  }
  output.result("runs list", { runs, ...(next === undefined ? {} : { next }) }, text);
  if (runs.length === 0 && lookedThrough === undefined && !output.json) output.note(noneText(asked));
}

/** Replaces `mine` by the id of the caller's key. */
export async function withMe(
  client: ServiceClient,
  { mine = false, ...asked }: AskedRuns,
  signal: AbortSignal,
): Promise<WantedRuns> {
  return mine ? { ...asked, me: (await client.org(signal)).actor } : asked;
}

function noneText({ statuses, mine = false, ...asked }: AskedRuns): string {
  const filters = ["pipeline", "project", "input", "since", "until"] as const;
  const isNarrowed = mine || filters.some((filter) => asked[filter] !== undefined);
  if (statuses.length === 1 && statuses[0] === "in-work" && !isNarrowed) return "No active runs.";
  return statuses.length > 0 || isNarrowed ? "No runs match." : "No runs yet.";
}

interface RunTableOptions {
  /** The id of the caller's key; if undefined, the table doesn't show who started a run. */
  readonly me: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The maximum width of a line; by default the terminal's. */
  readonly columns?: number;
}

/**
 * A table for people, without columns that are empty or the same for all. If it is too wide, names are cut, then the last columns
 * are left out: a part of one could be misread. The reason for a run's end is shown below the run.
 */
export function runTable(runs: readonly Run[], terminal: Terminal, options: RunTableOptions): string {
  const { me, now, columns: width = terminal.columns } = options;
  if (runs.length === 0) return "";
  const hasProjects = new Set(runs.map(({ project }) => project)).size > 1;
  const hasOthers = me !== undefined && runs.some(({ actor }) => actor !== undefined && actor !== me);
  const columns: Column[] = [
    { head: "ID", cell: ({ runId }) => runId },
    { head: "STATUS", cell: ({ status }) => statusText(status, terminal) },
    { head: "PIPELINE", isName: true, cell: ({ pipeline }) => pipeline },
    { head: "PROJECT", isName: true, cell: ({ project }) => (hasProjects ? project : undefined) },
    { head: "STARTED", cell: ({ createdAt }) => createdAt && ago(createdAt, now) },
    { head: "TOOK", cell: (run) => took(run, now) },
    {
      head: "BY",
      isName: true,
      cell: ({ actor, actorName = "another key" }) =>
        hasOthers && actor ? (actor === me ? "you" : actorName) : undefined,
    },
    { head: "AGENT", cell: ({ agent }) => agent },
  ];
  const { dim } = terminal.style;
  const { ellipsis } = marksOf(terminal);
  const reasonBelow = (run: Run | undefined): string[] => {
    const reason = run && listedReason(run, me);
    return reason ? [dim(table([[`  ${reason}`]], { columns: width, ellipsis, cut: [0] }))] : [];
  };
  let shown = columns.filter(({ cell }) => runs.some((run) => cell(run) !== undefined));
  for (;;) {
    const rows = runs.map((run) => shown.map(({ cell }) => cell(run) ?? ""));
    const cut = shown.flatMap(({ isName }, column) => (isName ? [column] : []));
    const text = table([shown.map(({ head }) => dim(head)), ...rows], { columns: width, ellipsis, cut });
    const [heads = "", ...lines] = text.split("\n");
    const isFitting = [heads, ...lines].every((line) => widthOf(line) <= width);
    if (isFitting || shown.length <= leastColumns) {
      const withReasons = lines.flatMap((line, index) => [line, ...reasonBelow(runs[index])]);
      return [heads, ...withReasons].join("\n");
    }
    shown = shown.slice(0, -1);
  }
}

/** The id and the status. */
const leastColumns = 2;

interface Column {
  readonly head: string;
  readonly isName?: boolean;
  /** @returns undefined if the run has no value. */
  readonly cell: (run: Run) => string | undefined;
}

/**
 * A line for each run, for scripts that don't read JSON, with tab-separated fields: run id, status, pipeline, project, start,
 * end, key, agent, the key's name, and the first line of its reason. An unknown field is empty; later versions may append fields.
 */
export function runLines(runs: readonly Run[]): string {
  return runs
    .map((run) => {
      const { runId, status, pipeline, project, createdAt, stoppedAt, actor, agent, actorName } = run;
      const reason = reasonLine(run, undefined);
      return [
        ...[runId, status, pipeline, project, createdAt, stoppedAt],
        ...[actor, agent, actorName, reason],
      ].join("\t");
    })
    .join("\n");
}

/** How long a run took, or has taken so far. @returns undefined if that isn't known. */
export function took(run: Run, now: number): string | undefined {
  const { createdAt, stoppedAt } = run;
  return tookText(createdAt, stoppedAt ?? (isActive(run) ? new Date(now).toISOString() : undefined));
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How long ago an instant was, in short: `now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`, and its date after 30 days. An
 * instant in the future is also `now`, since clocks may differ.
 *
 * @param now in milliseconds since 1970.
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
