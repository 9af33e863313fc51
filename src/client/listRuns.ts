import { PipelineError } from "../contract/errors.ts";
import { isInWork, type Run, type RunList } from "../contract/run.ts";
import type { RunsQuery, ServiceClient } from "./http/serviceClient.ts";

/** Which runs are wanted. What is left out doesn't matter. */
export interface WantedRuns {
  /** Runs of any of these statuses, or `in-work`; of every one when empty. */
  readonly statuses: readonly string[];
  readonly pipeline?: string | undefined;
  readonly project?: string | undefined;
  /** Only runs that the caller's key started. */
  readonly mine: boolean;
  /** How many at most. */
  readonly limit: number;
  /** The `next` of a list before; not together with several statuses. */
  readonly after?: string | undefined;
}

const largestPage = 100;
/** A service that passes a filter over lists others too: so many pages are looked through for the wanted ones. */
const mostPages = 50;

/**
 * The newest runs of those that are wanted, newest first, over as many pages as that takes. What a service doesn't
 * filter by itself is filtered here; of several statuses each is asked for.
 *
 * @returns `next`, what the service calls the place behind the last of them; never of several statuses, which have no one such
 * place.
 * @throws as `ServiceClient.runs`; `breaks-contract` for pages in a circle.
 */
export async function listRuns(
  client: ServiceClient,
  wanted: WantedRuns,
  signal: AbortSignal,
): Promise<RunList> {
  const statuses = wanted.statuses.length === 0 ? [undefined] : [...new Set(wanted.statuses)];
  const lists = await Promise.all(statuses.map((status) => listOfStatus(client, wanted, status, signal)));
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const found = new Map(lists.flatMap(({ runs }) => runs.map((run) => [run.runId, run] as const)));
  const runs = [...found.values()].sort(newestFirst);
  return { runs: runs.slice(0, wanted.limit) };
}

/** Whether a run is one of the wanted, as far as the run itself tells. */
export function isWanted(
  run: Run,
  { statuses, pipeline, project }: Pick<WantedRuns, "statuses" | "pipeline" | "project">,
): boolean {
  if (pipeline !== undefined && run.pipeline !== pipeline) return false;
  if (project !== undefined && run.project !== project) return false;
  return (
    statuses.length === 0 ||
    statuses.some((status) => (status === "in-work" ? isInWork(run) : run.status === status))
  );
}

export function newestFirst(one: Run, other: Run): number {
  const later = Date.parse(other.createdAt) - Date.parse(one.createdAt);
  return later !== 0 ? later : other.runId < one.runId ? -1 : 1;
}

async function listOfStatus(
  client: ServiceClient,
  wanted: WantedRuns,
  status: string | undefined,
  signal: AbortSignal,
): Promise<RunList> {
  const { pipeline, project, mine, limit } = wanted;
  const filter = { ...wanted, statuses: status === undefined ? [] : [status] };
  const query: RunsQuery = {
    mine,
    ...(status === "in-work" ? { inWork: true } : status === undefined ? {} : { status }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(project === undefined ? {} : { project }),
  };
  const runs = new Map<string, Run>();
  const cursors = new Set<string>();
  let { after } = wanted;
  for (let pages = 1; ; pages++) {
    const size = Math.min(limit - runs.size, largestPage);
    const page = await client.runs(
      { ...query, limit: size, ...(after === undefined ? {} : { after }) },
      signal,
    );
    for (const run of page.runs) if (isWanted(run, filter)) runs.set(run.runId, run);
    after = page.next;
    if (after === undefined || runs.size >= limit || pages === mostPages) break;
    if (cursors.has(after)) throw inACircle();
    cursors.add(after);
  }
  return { runs: [...runs.values()].slice(0, limit), ...(after === undefined ? {} : { next: after }) };
}

export function inACircle(): PipelineError {
  return new PipelineError("breaks-contract", "GET /api/runs: `next` leads back to a page that came before.");
}
