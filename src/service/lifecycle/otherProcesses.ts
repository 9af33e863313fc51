import { sql } from "kysely";
import { type Repetition, repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { Admission } from "../admission/admission.ts";
import type { EventBus } from "../store/eventBus.ts";
import type { Database } from "../store/tables.ts";

interface OtherProcessesDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly admission: Pick<Admission, "review">;
  readonly log: Log;
}

/** How often the service looks whether another process has written to its database, in milliseconds. */
const lookMilliseconds = 1_000;

/**
 * Passes on what another process has written, such as an org's limits by `pipeline orgs set`: every face is sent its org,
 * and whoever waits is decided on anew. SQLite's `data_version` changes with the commits of others alone.
 */
export function watchOtherProcesses({ db, clock, bus, admission, log }: OtherProcessesDeps): Repetition {
  let seen: number | undefined;
  return repeat(clock, lookMilliseconds, async () => {
    try {
      const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(db);
      const version = rows[0]?.data_version;
      if (seen !== undefined && version !== seen) {
        bus.emitToAll({ kind: "org" });
        await admission.review();
      }
      seen = version;
    } catch (error) {
      log("error", "what other processes have written is not looked up, trying again", { error });
    }
  });
}
