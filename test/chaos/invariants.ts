import type { Limits } from "../service/servedProcess.ts";
import type { ChaosService, Member, Row } from "./chaosService.ts";
import type { Round } from "./round.ts";

export interface OrgOfRound {
  readonly orgId: string;
  readonly limits: Limits;
}

/** What holds at every moment, whether a service lives or not. @returns the rows that were looked at. */
export async function checkAlways(
  service: ChaosService,
  orgs: readonly OrgOfRound[],
  round: Round,
): Promise<readonly Row[]> {
  // Read first: a run that ends before the processes are listed has none.
  const rows = await service.rows();
  const living = await service.runsWithProcesses();
  const ended = rows.filter(({ id, stopped_at }) => stopped_at !== null && living.has(id));
  round.checkSame(ended, [], "a run has released its slot before its processes were gone");
  for (const { orgId, limits } of orgs) {
    const own = rows.filter((row) => row.org_id === orgId);
    const active = own.filter(({ stopped_at }) => stopped_at === null).map(({ id }) => id);
    round.check(active.length <= limits.parallelRuns, "more runs are active than may be", active);
    for (const [day, { length }] of Map.groupBy(own, (row) => row.day)) {
      round.check(length <= limits.runsPerDay, "more runs a day than may be", { day, length });
    }
  }
  return rows;
}

/** The service's count is the number of rows, also while runs are started. */
export async function checkCount(service: ChaosService, member: Member, round: Round): Promise<void> {
  const count = async () => ofNewestDay(await service.rows(), member).length;
  let seen: { readonly before: number; readonly used: number; readonly after: number };
  let looks = 0;
  do {
    const before = await count();
    const used = await member
      .client()
      .org(round.signal)
      .then(
        ({ usage }) => usage.runsToday,
        () => undefined,
      );
    if (used === undefined) return;
    seen = { before, used, after: await count() };
    looks += 1;
    // A run that is granted and withdrawn between the two reads is in neither.
  } while (!isBetween(seen) && looks < 3);
  round.check(isBetween(seen), "the count is not the rows'", seen);
}

function isBetween({ before, used, after }: Readonly<Record<"before" | "used" | "after", number>>): boolean {
  return used >= Math.min(before, after) && used <= Math.max(before, after);
}

/** Nothing is active, so a slot is free: a start is admitted at once, or the day's runs are used up. */
export async function checkPlaceIsFree(service: ChaosService, member: Member, round: Round): Promise<void> {
  const idempotencyKey = `probe-${member.orgId}`;
  const { client, limits, orgId } = member;
  const attempt = await client().start(
    { pipeline: "quick" },
    { waitSeconds: 0, idempotencyKey },
    round.signal,
  );
  const rows = (await service.rows()).filter((row) => row.org_id === orgId);
  const today = ofNewestDay(rows, member).length;
  if (attempt.kind === "started") {
    const isThere = rows.some(({ id }) => id === attempt.run.runId);
    round.check(isThere, "a run that was promised is not there", attempt.run.runId);
    return;
  }
  const { scope } = attempt.refusal;
  const isRight = scope === "free-day" && today === limits.runsPerDay;
  round.check(isRight, "a slot has leaked: nothing is active, and a start is refused", { scope, today });
}

/** The runs of an org's newest day. It needn't be the tests' own: a service that a tool has started doesn't live in their time. */
function ofNewestDay(rows: readonly Row[], { orgId }: Pick<Member, "orgId">): readonly Row[] {
  const own = rows.filter((row) => row.org_id === orgId);
  const newest = own
    .map(({ day }) => day)
    .sort()
    .at(-1);
  return own.filter(({ day }) => day === newest);
}
