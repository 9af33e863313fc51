import { isDeepStrictEqual } from "node:util";
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
 * @returns a function that stops it; resolves when nothing is under way.
 */
export async function watchLimits({
  db,
  clock,
  bus,
  admission,
  log,
}: WatchLimitsDeps): Promise<() => Promise<void>> {
  let known = await limitsOf(db);
  let isStopped = false;
  let cancelTimer = () => {};
  let looking = Promise.resolve();
  const look = async () => {
    try {
      const orgs = await limitsOf(db);
      const changed = [...orgs].filter(([orgId, org]) => !isDeepStrictEqual(known.get(orgId), org));
      // Who sees a new org was sent it as it is.
      for (const [orgId] of changed) if (known.has(orgId)) bus.emit(orgId, { kind: "org" });
      if (changed.length > 0) await admission.review();
      known = orgs;
    } catch (error) {
      log("error", "the limits of orgs are not looked up, trying again", { error });
    }
    if (!isStopped) next();
  };
  const next = () => {
    cancelTimer = clock.after(lookMilliseconds, () => {
      looking = look();
    });
  };
  next();
  return async () => {
    isStopped = true;
    cancelTimer();
    await looking;
  };
}

async function limitsOf(db: Database): Promise<ReadonlyMap<string, OrgLimits>> {
  return new Map((await listOrgs(db)).map((org) => [org.orgId, org]));
}
