import type { Changes } from "../changes.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Places } from "../places.ts";
import type { RunsInWork } from "../runsInWork.ts";
import type { MakeId } from "../store/ids.ts";
import type { Database } from "../store/tables.ts";
import type { OpenReplies } from "./openReplies.ts";

/** What the routes work with. */
export interface AppDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly makeId: MakeId;
  readonly places: Places;
  readonly runs: RunsInWork;
  readonly changes: Changes;
  readonly replies: OpenReplies;
  readonly log: Log;
  /** Tells this start of the service from every other; see the connection file. */
  readonly instance: string;
}
