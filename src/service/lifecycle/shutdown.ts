import type { Server } from "node:http";
import type { Log } from "../../machine/log.ts";
import { withdrawConnection } from "./publishConnection.ts";

export interface ShutdownDeps {
  readonly core: {
    readonly admission: { close(): Promise<void> };
    readonly runs: { stopAll(why: string | undefined): Promise<void> };
    close(): Promise<void>;
  };
  readonly server: Server;
  readonly replies: { stop(): void; finish(): Promise<void> };
  /** Stops what the service does by itself. */
  readonly stopJobs: () => Promise<void>;
  readonly folder: string;
  readonly instance: string;
  readonly log: Log;
  /** Why the service ends, where nobody has asked it to. */
  readonly why: string | undefined;
}

/** Turns waiters away, ends the runs, finishes the open replies, and closes the database, in that order. */
export async function shutDown(deps: ShutdownDeps): Promise<void> {
  const { core, server, replies, stopJobs, folder, instance, log, why } = deps;
  const jobsStopped = stopJobs();
  replies.stop();
  // First: a run that is granted now would only be ended again.
  const queueClosed = core.admission.close();
  await withdrawConnection(folder, instance).catch((error: unknown) =>
    log("error", "the connection file could not be taken away", { error }),
  );
  const serverClosed = new Promise<void>((resolve) => void server.close(() => resolve()));
  await queueClosed;
  await core.runs.stopAll(why);
  // After the runs, so that whoever follows one still reads how it ended.
  await replies.finish();
  server.closeAllConnections();
  // From here on no reply is on its way, and so no start.
  await serverClosed;
  await jobsStopped;
  await core.close();
}
