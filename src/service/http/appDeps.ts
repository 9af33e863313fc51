import type { Clock } from "../../contract/clock.ts";
import type { Admission } from "../admission/admission.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { ProjectPipelines } from "../projectPipelines.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { RunLogs } from "../runs/runLogs.ts";
import type { MakeId } from "../store/ids.ts";
import type { Database } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import type { OpenReplies } from "./openReplies.ts";
import type { OrgEvents } from "./orgEvents.ts";
import type { Life } from "./serviceRoutes.ts";

/** What the routes work with. */
export interface AppDeps {
  readonly db: Database;
  /** All writes go through it. */
  readonly writer: Writer;
  readonly clock: Clock;
  readonly makeId: MakeId;
  readonly admission: Admission;
  readonly runs: ActiveRuns;
  readonly pipelines: ProjectPipelines;
  /** Looks at once for runs in work that nobody holds. */
  readonly sweep: () => void;
  readonly bus: EventBus;
  readonly events: OrgEvents;
  readonly logs: RunLogs;
  /** The data folder, in which the runs' artifacts lie. */
  readonly folder: string;
  readonly replies: OpenReplies;
  readonly log: Log;
  /** Tells this start of the service from every other; see the connection file. */
  readonly instance: string;
  readonly life: Life;
  /** Where the build has put the page's style and script; undefined: there is no page. */
  readonly pageFolder: string | undefined;
}
