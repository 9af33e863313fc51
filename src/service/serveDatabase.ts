import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { PipelineError } from "../contract/errors.ts";
import { createApp } from "./http/app.ts";
import { createHttpServer } from "./http/httpServer.ts";
import { OpenReplies, watchRevokedKeys } from "./http/openReplies.ts";
import { OrgEvents } from "./http/orgEvents.ts";
import { emitAtMidnight } from "./lifecycle/midnight.ts";
import type { Log } from "./log.ts";
import { serverMetrics } from "./metrics.ts";
import { openSharedCore } from "./sharedCore.ts";
import { storedPipelines } from "./store/postgres/storedPipelines.ts";

export interface ServeDatabaseOptions {
  /** A `postgres://` URL. */
  readonly url: string;
  /** The address to listen on. */
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** The built style and script of the page; undefined for none. */
  readonly pageFolder?: string | undefined;
  readonly version?: string | undefined;
  readonly log: Log;
}

/**
 * Starts a server of the service on PostgreSQL. It keeps nothing of its own: any number of them serve one database, behind
 * any balancer, and any of them may die.
 * @throws PipelineError when the database or the port can't be used; then nothing is left open.
 */
export async function serveDatabase(options: ServeDatabaseOptions) {
  const { url, log, version, pageFolder } = options;
}
