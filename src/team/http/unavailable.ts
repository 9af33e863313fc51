import pg from "pg";
import { HttpProblem, unavailable } from "../../service/http/reply.ts";
import { OrgBusyError } from "../admission/orgTurns.ts";
import { ObjectStoreError } from "../store/objectStore.ts";

/**
 * The problem of a request that failed because the database or the object store is out of reach, the org has too many requests,
 * or this server is about to end. None of these is the request's fault, and all pass.
 * @param stopping the server's.
 * @returns undefined for any other error.
 */
export function asUnavailable(error: unknown, stopping: AbortSignal): HttpProblem | undefined {
  if (isDatabaseAway(error)) return unavailable("The database is out of reach.");
  if (error instanceof pg.DatabaseError && tookTooLong.has(error.code ?? ""))
    return unavailable("The database doesn't answer: its tables may be locked, or it has too much to do.");
  if (error instanceof ObjectStoreError)
    return unavailable("The object store with the logs and artifacts of ended runs is out of reach.");
  if (error instanceof OrgBusyError) return unavailable("The org has too many requests at once.");
  if (stopping.aborted && !(error instanceof HttpProblem)) return unavailable("This server is about to end.");
  return undefined;
}

/** PostgreSQL's codes for a canceled statement, and for a lock that wasn't free in time. */
const tookTooLong: ReadonlySet<string> = new Set(["57014", "55P03"]);

/** What the system and PostgreSQL say of a connection that can't be made, is broken off, or leads to a standby. */
const awayCodes =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0[123]|25006|25P03|08\w{3}|53300)$/;
/** What `pg` says of it where it gives no code. */
const awayMessages = /^Connection terminated|timeout exceeded when trying to connect|^Client has encountered/;

function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string" && awayCodes.test(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return awayMessages.test(error.message);
}
