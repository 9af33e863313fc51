import { readDayUse } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { secondsToLimit, slotHolders } from "../../client/start/slotHolders.ts";
import { nextReset, quotaLevel, quotaText, secondsToReset } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Run } from "../../contract/run.ts";
import { counted } from "../../text/counted.ts";
import { type DayUse, paceText, usedUpAt, useText } from "../../text/dayUse.ts";
import { english, resetText } from "../../text/refusalText.ts";
import { duration, elapsed } from "../../text/time.ts";
import { statusText, type Terminal } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/** `pipeline org`: shows the org's limits, today's usage and, if the service lists runs, the slot holders. */
export async function showOrg(tool: Tool): Promise<void> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const { org, servedAt, runsInWork } = await numbersOf(client, interrupted);
  const now = servedAt ?? client.clock.now();
  const use = runsInWork && (await readDayUse(client, org, now, interrupted));
  const facts = {
    ...org,
    resetsAt: instantOf(servedAt && nextReset(servedAt)),
    runsInWork: runsInWork && [...runsInWork],
    byPipeline: use?.byPipeline.map(({ name: pipeline, runs }) => ({ pipeline, runs })),
    byActor: use?.byActor.map(({ name: _, ...byKey }) => byKey),
    usedUpAt: instantOf(servedAt && usedUpAt(org, servedAt)),
  };
  // Uses the service's clock, since this machine's may be wrong.
  const reset =
    servedAt === undefined
      ? "The count starts again at 00:00 UTC."
      : resetText(secondsToReset(servedAt), Date.now(), english);
  const lines = [
    `${org.orgName} (${org.orgId}), tier ${org.tier}, ${counted(org.limits.parallelRuns, "run")} at a time`,
    `${barOf(org, output.out)}${quotaText(org)}. ${reset}`,
    ...(use === undefined ? [] : useLines(org, use, servedAt)),
    ...slotLines(org, runsInWork, servedAt, output.out),
    `Your key: ${org.actor}`,
  ];
  output.result("org", facts, lines.join("\n"));
}

function instantOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

function useLines(org: Org, use: DayUse, servedAt: number | undefined): string[] {
  const who = useText(use, org.actor, english);
  const pace = servedAt && paceText(org, { servedAt, now: Date.now() }, english);
  return [...(who ? [`${who}.`] : []), ...(pace ? [pace] : [])];
}

/** Enough to read; if more runs hold slots, only the newest are shown. */
const mostRuns = 20;
/** Short: the runs are optional, and the org's numbers wait for them. */
const runsTimeoutSeconds = 2;

export type Numbers = Awaited<ReturnType<typeof numbersOf>>;

/**
 * Reads the org and then its active runs, over one connection: without the org, the runs aren't needed.
 * @returns also `servedAt`, the service's clock in milliseconds since 1970; `runsInWork` is undefined if they can't be listed.
 */
export async function numbersOf(client: ServiceClient, signal: AbortSignal) {
  const orgAndTime = await client.orgAndTime(signal);
  using deadline = new Deadline(client.clock, signal, runsTimeoutSeconds);
  const runsInWork = await slotHolders(client.withoutRetries(), deadline.signal, mostRuns);
  signal.throwIfAborted();
  return { ...orgAndTime, runsInWork };
}

const barWidth = 20;

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

function slotLines(
  org: Org,
  runs: readonly Run[] | undefined,
  servedAt: number | undefined,
  terminal: Terminal,
): string[] {
  if (runs === undefined) return [];
  const { actor, limits } = org;
  // Once the day's runs are used up, nobody can use a free slot.
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
