import { PipelineError } from "../../contract/errors.ts";
import type { Run, RunListPage } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { RunsQuery, ServiceClient } from "../service/client.ts";

/** Which runs are wanted. What is left out doesn't matter. */
export interface WantedRuns {
  /** Runs of any of these statuses, or `in-work`; of every one when empty. */
  readonly statuses: readonly string[];
  readonly pipeline?: string | undefined;
  readonly project?: string | undefined;
  /** The id of the caller's key, where only the runs that it started are wanted. */
  readonly me?: string | undefined;
  /** How many at most. */
  readonly limit: number;
  /** The `next` of a list before; not together with several statuses. */
  readonly after?: string | undefined;
}

/** The newest of the wanted runs. */
export interface FoundRuns extends RunListPage {
  /** How many runs were looked through, when older ones were not and there may be wanted ones among them. */
  readonly lookedThrough?: number;
}

const largestPage = 100;
/** A service that passes a filter over lists others too: so many pages are looked through for the wanted ones. */
const mostPages = 50;

/**
 * The newest runs of those that are wanted, newest first, over as many pages as that takes. What a service doesn't
 * filter by itself is filtered here; of several statuses each is asked for.
 *
 * @returns `next`, what the service calls the place behind the last of them; never of several statuses, which have no one such
 * place. `lookedThrough`, where a service that doesn't filter has more runs than are looked through.
 * @throws as `ServiceClient.runs`; `breaks-contract` for pages in a circle.
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
 * Whether a run is one of the wanted. One that doesn't tell its pipeline or project is, where it was listed: then the service
 * has chosen it. One that doesn't tell who started it is nobody's.
 */
export function isWanted(
  run: Run,
  { statuses, pipeline, project, me }: Pick<WantedRuns, "statuses" | "pipeline" | "project" | "me">,
  how: "listed" | "told",
): boolean {
  const isOf = (told: string | undefined, wanted: string | undefined): boolean =>
    wanted === undefined || told === wanted || (told === undefined && how === "listed");
  if (!isOf(run.pipeline, pipeline) || !isOf(run.project, project)) return false;
  if (me !== undefined && run.actor !== me) return false;
  return (
    statuses.length === 0 ||
    statuses.some((status) => (status === "in-work" ? isActive(run) : run.status === status))
  );
}

/** The runs, newest first. Where one doesn't tell when it began, they keep the order of the service. */
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
  const { pipeline, project, me, limit } = wanted;
  const filter = { ...wanted, statuses: status === undefined ? [] : [status] };
  const query: RunsQuery = {
    mine: me !== undefined,
    ...(status === "in-work" ? { active: true } : status === undefined ? {} : { status }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(project === undefined ? {} : { project }),
  };
  const runs = new Map<string, Run>();
  const cursors = new Set<string>();
  let { after } = wanted;
  let looked = 0;
  let isFiltered = true;
  for (let pages = 1; ; pages++) {
    const size = isFiltered ? Math.min(limit - runs.size, largestPage) : largestPage;
    const page = await client.runs(
      { ...query, limit: size, ...(after === undefined ? {} : { after }) },
      signal,
    );
    const taken = take(page.runs, runs, filter, limit);
    looked += page.runs.length;
    // Pages of a few runs would hardly ever get behind those that nobody wants.
    isFiltered &&= page.runs.every((run) => isWanted(run, filter, "listed"));
    if (page.runs.slice(taken).some((run) => isWanted(run, filter, "listed"))) {
      // The page's end is behind wanted runs that there is no more room for.
      const cut = { ...query, limit: taken, ...(after === undefined ? {} : { after }) };
      after = (await client.runs(cut, signal)).next;
      break;
    }
    after = page.next;
    if (after === undefined || runs.size >= limit) break;
    if (pages === mostPages) return { runs: [...runs.values()], next: after, lookedThrough: looked };
    if (cursors.has(after)) throw inACircle();
    cursors.add(after);
  }
  return { runs: [...runs.values()], ...(after === undefined ? {} : { next: after }) };
}

/** Adds the wanted runs of a page while there is room. @returns how many of the page's runs were looked at for that. */
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

export function inACircle(): PipelineError {
  return new PipelineError("breaks-contract", "GET /api/runs: `next` leads back to a page that came before.");
}
