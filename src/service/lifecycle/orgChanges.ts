import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { utcDay } from "../../contract/limits.ts";
import { type Clock, repeat } from "../../machine/clock.ts";
import type { Admission } from "../admission/admission.ts";
import type { EventBus } from "../store/eventBus.ts";
import { listOrgs, type OrgLimits } from "../store/orgs.ts";
import type { StoreDeps } from "../store/storeDeps.ts";

/** How often the day and the limits are checked, in milliseconds. */
const lookMilliseconds = 1_000;

/**
 * Emits an event to every org at 00:00 UTC, when the day's count starts again. Nothing else happens at midnight: the
 * count is the number of run rows of the current UTC day (`countSlots` in `admission/slots.ts`), so there is nothing to
 * reset.
 * @returns a function that stops it; resolves when nothing is under way.
 */
export function emitAtMidnight(
  clock: Pick<Clock, "now" | "after">,
  bus: Pick<EventBus, "emitToAll">,
): () => Promise<void> {
  let day = utcDay(clock.now());
  const { stop } = repeat(clock, lookMilliseconds, async () => {
    const today = utcDay(clock.now());
    if (today !== day) bus.emitToAll({ kind: "org" });
    day = today;
  });
  return stop;
}

interface WatchLimitsDeps extends Pick<StoreDeps, "db" | "clock" | "bus" | "log"> {
  readonly admission: Pick<Admission, "review">;
}

/**
 * Passes on limits that another process has set, as `pipeline orgs set` does: the org's faces get them, and its waiters are
 * decided on again. While no other process writes to the database, the limits aren't read.
 * @returns a function that stops it; resolves when nothing is under way.
 */
export function watchLimits({ db, clock, bus, admission, log }: WatchLimitsDeps): () => Promise<void> {
  let known: ReadonlyMap<string, OrgLimits> | undefined;
  let version: unknown;
  const { stop } = repeat(clock, lookMilliseconds, async () => {
    try {
      const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(db);
      const now = rows[0]?.data_version;
      if (now === version) return;
      const orgs = new Map((await listOrgs(db)).map((org) => [org.orgId, org]));
      const before = known ?? orgs;
      const changed = [...orgs].filter(([orgId, org]) => !isDeepStrictEqual(before.get(orgId), org));
      // Whoever reads a new org was sent it as it is, but requests may already be waiting under its limits.
      for (const [orgId] of changed) if (before.has(orgId)) bus.emit(orgId, { kind: "org" });
      if (changed.length > 0) await admission.review();
      known = orgs;
      version = now;
    } catch (error) {
      log("error", "the limits of orgs are not looked up, trying again", { error });
    }
  });
  return stop;
}
