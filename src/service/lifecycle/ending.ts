import type { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Leaving } from "../../contract/service.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { withdrawConnection } from "./connection.ts";

interface HandOverDeps {
  /** Whether the service ends by itself when nobody uses it; only such a service leaves for another. */
  readonly endsByItself: boolean;
  /** Whether a run is active, a request waits, or more than `changing` requests are changing something. */
  readonly isBusy: (changing: number) => boolean;
  readonly clock: Pick<Clock, "after">;
  readonly leave: () => void;
}

const checkMilliseconds = 250;
/** How many checks in a row must find the service free after it was busy, so that a run's followers can read its end. */
const freeChecks = 8;

/**
 * Leaves for a newer service of this machine as soon as nothing is active. Until then runs go on, waiters get their slots,
 * and nobody is turned away.
 * @returns a function that a request calls. Called again, it only says when the service leaves.
 */
export function handOver({ endsByItself, isBusy, clock, leave }: HandOverDeps): () => Leaving {
  let isRequested = false;
  /** How many more checks must find the service free. */
  let left = 0;
  const checkLater = () => {
    clock.after(checkMilliseconds, () => {
      left = isBusy(0) ? freeChecks : left - 1;
      if (left <= 0) leave();
      else checkLater();
    });
  };
  return () => {
    if (!endsByItself) return "never";
    if (isBusy(1)) left = freeChecks;
    else left ||= 1;
    if (!isRequested) checkLater();
    isRequested = true;
    return left > 1 ? "later" : "now";
  };
}

interface IdleWatch {
  /** Whether a reply is open, a run is active or a request waits. */
  readonly isBusy: () => boolean;
  /** The HTTP server, whose requests show that a face is there. */
  readonly requests: Pick<EventEmitter, "on" | "off">;
  readonly idleSeconds: number;
  readonly clock: Pick<Clock, "after">;
  readonly onIdle: () => void;
}

/** The number of checks within the idle time, which may thus be a twentieth longer. */
const checks = 20;

/** Calls `onIdle` once the service has not been used for `idleSeconds`. @returns a function that stops watching. */
export function watchIdle({ isBusy, requests, idleSeconds, clock, onIdle }: IdleWatch): () => Promise<void> {
  let left = checks;
  let cancelTimer = () => {};
  const restart = () => {
    left = checks;
  };
  const check = () => {
    if (isBusy()) restart();
    else left -= 1;
    if (left < 0) onIdle();
    else checkLater();
  };
  const checkLater = () => {
    cancelTimer = clock.after((idleSeconds * 1000) / checks, check);
  };
  requests.on("request", restart);
  checkLater();
  return async () => {
    requests.off("request", restart);
    cancelTimer();
  };
}

export interface ShutdownDeps {
  readonly core: {
    readonly admission: { close(): Promise<void> };
    readonly runs: { stopAll(why: string | undefined): Promise<void> };
    close(): Promise<void>;
  };
  readonly server: Server;
  readonly replies: { stop(): void; finish(): Promise<void> };
  readonly stopJobs: () => Promise<void>;
  readonly folder: string;
  readonly instance: string;
  readonly log: Log;
  /** Why the service ends; undefined when somebody asked it to. */
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
