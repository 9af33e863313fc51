import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { EventBus } from "./eventBus.ts";
import type { Database } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** What whoever reads and changes the rows works with, on one machine as on many. */
export interface StoreDeps {
  readonly db: Database;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly log: Log;
}
