import { PipelineError } from "../../contract/errors.ts";
import { dayMilliseconds, nextReset } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { inputText } from "../../contract/pipelines.ts";
import type { Run, RunListPage } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { countDayUse, type DayUse } from "../../text/dayUse.ts";
import type { RunsQuery, ServiceClient } from "../service/client.ts";
import { Deadline, DeadlinePassed } from "../service/deadline.ts";

/** A filter of runs; an omitted field filters nothing. `after` allows one status at most. */
export interface WantedRuns
  extends Pick<RunsQuery, "pipeline" | "project" | "input" | "since" | "until" | "after"> {
  /** Runs of any of these statuses, or `in-work`; empty for all. */
  readonly statuses: readonly string[];
  /** The id of the caller's key, to list only the runs that it started. */
  readonly me?: string | undefined;
  /** How many at most. */
  readonly limit: number;
}

export interface FoundRuns extends RunListPage {
  /** How many runs were searched, if older ones weren't. */
  readonly lookedThrough?: number;
}

const largestPage = 100;
const inACircle = "GET /api/runs: `next` leads back to a page that came before.";
/** How many pages of a service that ignores a filter are searched. */
const mostPages = 50;

/**
 * The newest of the wanted runs, newest first, over as many pages as needed. A filter that a service ignores is applied here;
 * several statuses take one request each.
 *
 * @returns `next`, the cursor after the last run, but not for several statuses; `lookedThrough` if a service ignores a filter and
 * has more runs than were searched.
 * @throws as `ServiceClient.runs`.
 */
export async function listRuns(
  client: ServiceClient,
  wanted: WantedRuns,
  signal: AbortSignal,
): Promise<FoundRuns> {
  const statuses = wanted.statuses.length === 0 ? [undefined] : [...new Set(wanted.statuses)];
  const lists = await Promise.all(statuses.map((status) => listOfStatus(client, wanted, status, signal)));
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const found = new Map(lists.flatMap(({ runs }) => runs.map((run) => [run.runId, run] as const)));
  const runs = newestFirst([...found.values()]);
  const looked = lists.flatMap(({ lookedThrough }) => lookedThrough ?? []);
  const fewest = looked.length === 0 ? {} : { lookedThrough: Math.min(...looked) };
  return { runs: runs.slice(0, wanted.limit), ...fewest };
}

/**
 * Whether a run passes the filter. A listed run without a pipeline or project passes, since the service has filtered it. A run
 * without an actor belongs to nobody.
 */
export function isWanted(
  run: Run,
  wanted: Pick<WantedRuns, "statuses" | "pipeline" | "project" | "input" | "me" | "since" | "until">,
  how: "listed" | "told",
): boolean {
  const { statuses, pipeline, project, input = [], me } = wanted;
  const isOf = (told: string | undefined, wanted: string | undefined): boolean =>
    wanted === undefined || told === wanted || (told === undefined && how === "listed");
  if (!isOf(run.pipeline, pipeline) || !isOf(run.project, project)) return false;
  if (!input.every((each) => hasInput(run, each))) return false;
  if (me !== undefined && run.actor !== me) return false;
  if (isBefore(run, wanted) || isAfter(run, wanted)) return false;
  return (
    statuses.length === 0 ||
    statuses.some((status) => (status === "in-work" ? isActive(run) : run.status === status))
  );
}

function hasInput({ inputs = {} }: Run, wanted: string): boolean {
  return Object.entries(inputs).some(([name, value]) => inputText(name, value) === wanted);
}

/** Whether a run was created before `since`. False for a run without `created-at`. */
function isBefore({ createdAt = "" }: Run, { since }: Pick<WantedRuns, "since">): boolean {
  return since !== undefined && Date.parse(createdAt) < since;
}

function isAfter({ createdAt = "" }: Run, { until }: Pick<WantedRuns, "until">): boolean {
  return until !== undefined && Date.parse(createdAt) >= until;
}

/** Sorts runs, newest first; keeps the service's order if any has no `created-at`. */
export function newestFirst(runs: readonly Run[]): Run[] {
  const dated = runs.map((run) => ({ run, at: Date.parse(run.createdAt ?? "") }));
  if (dated.some(({ at }) => Number.isNaN(at))) return [...runs];
  return dated
    .sort((one, other) => other.at - one.at || (other.run.runId < one.run.runId ? -1 : 1))
    .map(({ run }) => run);
}

async function listOfStatus(
  client: ServiceClient,
  wanted: WantedRuns,
  status: string | undefined,
  signal: AbortSignal,
): Promise<FoundRuns> {
  const { pipeline, project, input, me, limit, since, until } = wanted;
  const filter = { ...wanted, statuses: status === undefined ? [] : [status] };
  const active = status === "in-work";
  const which = { mine: me !== undefined, active, status: active ? undefined : status };
  const query: RunsQuery = { ...which, pipeline, project, input, since, until };
  const runs = new Map<string, Run>();
  let { after } = wanted;
  let looked = 0;
  let isFiltered = true;
  const cursors = new Set([after]);
  for (let pages = 1; ; pages++) {
    const size = isFiltered ? Math.min(limit - runs.size, largestPage) : largestPage;
    const page = await client.runs({ ...query, limit: size, after }, signal);
    const taken = take(page.runs, runs, filter, limit);
    looked += page.runs.length;
    // The newest come first, so all others are too old.
    const last = page.runs.at(-1);
    if (last !== undefined && isBefore(last, filter)) return { runs: [...runs.values()] };
    // Unfiltered pages are read at full size.
    isFiltered &&= page.runs.every((run) => isWanted(run, filter, "listed"));
    if (page.runs.slice(taken).some((run) => isWanted(run, filter, "listed"))) {
      // The limit falls within the page: a shorter page has the cursor for the rest.
      after = (await client.runs({ ...query, limit: taken, after }, signal)).next;
      break;
    }
    after = page.next;
    if (after === undefined || runs.size >= limit) break;
    if (cursors.has(after)) throw new PipelineError("breaks-contract", inACircle);
    cursors.add(after);
    if (pages === mostPages) return { runs: [...runs.values()], next: after, lookedThrough: looked };
  }
  return { runs: [...runs.values()], ...(after === undefined ? {} : { next: after }) };
}

/** Adds the wanted runs of a page up to the limit. @returns how many of the page's runs that took. */
function take(
  page: readonly Run[],
  runs: Map<string, Run>,
  filter: Parameters<typeof isWanted>[1],
  limit: number,
): number {
  for (const [index, run] of page.entries()) {
    if (isWanted(run, filter, "listed")) runs.set(run.runId, run);
    if (runs.size >= limit) return index + 1;
  }
  return page.length;
}

/** If a day has more runs, only the newest are counted. */
const mostRuns = 500;
/** Short: the result is optional, and other things may wait for it. */
const withinSeconds = 2;

/**
 * Who used the day's runs.
 * @param servedAt the service's clock now, in milliseconds since 1970.
 * @returns undefined on any error: the use is shown only if the service lists runs.
 */
export async function readDayUse(
  client: ServiceClient,
  { usage: { runsToday } }: Pick<Org, "usage">,
  servedAt: number,
  signal: AbortSignal,
): Promise<DayUse | undefined> {
  if (runsToday === 0) return undefined;
  const since = nextReset(servedAt) - dayMilliseconds;
  try {
    using deadline = new Deadline(client.clock, signal, withinSeconds);
    const wanted = { statuses: [], since, limit: Math.min(runsToday, mostRuns) };
    const { runs } = await listRuns(client.withoutRetries(), wanted, deadline.signal);
    return runs.length === 0 ? undefined : countDayUse(runs);
  } catch (error) {
    if (error instanceof PipelineError || error instanceof DeadlinePassed) return undefined;
    throw error;
  }
}
