import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { Admission } from "../admission/admission.ts";
import type { EventBus } from "../store/eventBus.ts";
import { listOrgs, type OrgLimits } from "../store/orgs.ts";
import type { Database } from "../store/tables.ts";

interface WatchLimitsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly admission: Pick<Admission, "review">;
  readonly log: Log;
}

/** How often the limits are looked up, in milliseconds: `pipeline orgs set` is another process, which only writes the row. */
const lookMilliseconds = 1_000;

/**
 * Passes on the limits that another process has set: the faces of the org are sent it, and whoever waits is decided on anew.
 * While no other process writes to the database, the limits aren't read.
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
      // Who sees a new org was sent it as it is.
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
