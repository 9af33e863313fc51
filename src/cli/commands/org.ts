import { readDayUse } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { nextReset, secondsToReset } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import { quotaLevel, quotaText } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { counted } from "../../text/counted.ts";
import { type DayUse, paceText, usedUpAt, useText } from "../../text/dayUse.ts";
import { english, resetText } from "../../text/refusalText.ts";
import { duration, elapsed } from "../../text/time.ts";
import { statusText } from "../terminal/marks.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/** `pipeline org`: shows the org's limits, today's usage and, where the service lists runs, the slot holders. */
export async function showOrg(tool: Tool): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const { org, servedAt, runsInWork } = await numbersOf(client, interrupted);
  const use =
    runsInWork === undefined
      ? undefined
      : await readDayUse(client, org, servedAt ?? client.clock.now(), interrupted);
  const usedUp = servedAt === undefined ? undefined : usedUpAt(org, servedAt);
  const facts = {
    ...org,
    ...(servedAt === undefined ? {} : { resetsAt: new Date(nextReset(servedAt)).toISOString() }),
    ...(runsInWork === undefined ? {} : { runsInWork: [...runsInWork] }),
    ...(use === undefined ? {} : useFacts(use)),
    ...(usedUp === undefined ? {} : { usedUpAt: new Date(usedUp).toISOString() }),
  };
  const lines = [
    `${org.orgName} (${org.orgId}), tier ${org.tier}, ${counted(org.limits.parallelRuns, "run")} at a time`,
    `${barOf(org, output.out)}${quotaText(org)}. ${resetLine(servedAt)}`,
    ...useLines(org, use, servedAt),
    ...slotLines(org, runsInWork, servedAt, output.out),
    `Your key: ${org.actor}`,
  ];
  output.result("org", facts, lines.join("\n"));
  return 0;
}

function useFacts({ byPipeline, byActor }: DayUse) {
  return {
    byPipeline: byPipeline.map(({ name: pipeline, runs }) => ({ pipeline, runs })),
    byActor: byActor.map(({ name: _, ...use }) => use),
  };
}

function useLines(org: Org, use: DayUse | undefined, servedAt: number | undefined): string[] {
  if (use === undefined) return [];
  const who = useText(use, org.actor, english);
  const pace = servedAt === undefined ? undefined : paceText(org, { servedAt, now: Date.now() }, english);
  return [...(who === undefined ? [] : [`${who}.`]), ...(pace === undefined ? [] : [pace])];
}

/** What the service said of the org and its slots. */
export interface Numbers {
  readonly org: Org;
  /** The service's clock, in milliseconds since 1970. */
  readonly servedAt: number | undefined;
  /** Undefined where the service doesn't list runs. */
  readonly runsInWork: readonly Run[] | undefined;
}

/** The org and its active runs, one after the other over one connection: without the org, the runs aren't needed. */
export async function numbersOf(client: ServiceClient, signal: AbortSignal): Promise<Numbers> {
  const orgAndTime = await client.orgAndTime(signal);
  return { ...orgAndTime, runsInWork: await runsOf(client, signal) };
}

/** Enough to read; of more slot holders, the newest are shown. */
const mostRuns = 20;
/** Short, since the runs are optional and the org's numbers wait for them. */
const runsTimeoutSeconds = 2;

/** @returns undefined on any error, since the org is displayed without its runs, too. */
async function runsOf(client: ServiceClient, signal: AbortSignal): Promise<readonly Run[] | undefined> {
  try {
    using deadline = new Deadline(client.clock, signal);
    deadline.arm(runsTimeoutSeconds);
    const query = { active: true, limit: mostRuns };
    const { runs } = await client.withoutRetries().runs(query, deadline.signal);
    // A service may ignore the query.
    return runs.filter(isActive);
  } catch (error) {
    if (error instanceof PipelineError || error instanceof DeadlinePassed) return undefined;
    throw error;
  }
}

const barWidth = 20;

/** A bar of the day's usage, on a terminal only. */
function barOf(org: Org, terminal: Terminal): string {
  const { runsPerDay } = org.limits;
  if (!terminal.isTerminal || runsPerDay === 0) return "";
  const share = Math.min(1, org.usage.runsToday / runsPerDay);
  // Rounding never hides a used run or a remaining one.
  const rounded = share > 0.5 ? Math.floor(share * barWidth) : Math.ceil(share * barWidth);
  const { style, hasUnicode } = terminal;
  const paint = { plenty: style.good, low: style.caution, "used-up": style.bad }[quotaLevel(org)];
  const used = (hasUnicode ? "█" : "#").repeat(rounded);
  return `${paint(used)}${style.dim((hasUnicode ? "░" : "-").repeat(barWidth - rounded))} `;
}

/** By the service's clock, since this machine's may be wrong. */
function resetLine(servedAt: number | undefined): string {
  return servedAt === undefined
    ? "The count starts again at 00:00 UTC."
    : resetText(secondsToReset(servedAt), Date.now(), english);
}

function slotLines(
  org: Org,
  runs: readonly Run[] | undefined,
  servedAt: number | undefined,
  terminal: Terminal,
): string[] {
  if (runs === undefined) return [];
  const { actor, limits } = org;
  // A free slot is of no use to anyone until the count starts again.
  if (runs.length === 0 && quotaLevel(org) === "used-up") return [];
  if (runs.length === 0) return [limits.parallelRuns === 1 ? "The slot is free." : "All slots are free."];
  const lines = runs.map((run) => {
    const status = statusText(run.status, terminal);
    const name = run.pipeline === undefined ? "" : `${terminal.style.bold(run.pipeline)} `;
    return `  ${status} ${name}${run.runId}${startText(run, actor, servedAt)}`;
  });
  const slots = limits.parallelRuns === 1 ? "the slot" : `${runs.length} of ${limits.parallelRuns} slots`;
  return [`Running, in ${slots}:`, ...lines];
}

/** `, started by you 12 s ago, up to 18 s left`, without the unknown parts. */
function startText(run: Run, me: string, servedAt: number | undefined): string {
  const { actor, actorName = "another key", createdAt } = run;
  const by = actor === undefined ? "" : ` by ${actor === me ? "you" : actorName}`;
  const passed =
    servedAt === undefined || createdAt === undefined
      ? undefined
      : Math.max(0, servedAt - Date.parse(createdAt));
  const ago = passed === undefined ? "" : ` ${elapsed(passed)} ago`;
  const left = secondsToLimit(run, servedAt);
  const most = left === undefined ? "" : `, up to ${duration(left * 1000)} left`;
  return by === "" && ago === "" ? most : `, started${by}${ago}${most}`;
}
