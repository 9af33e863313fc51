import { OrgBusyError } from "../store/writer.ts";
import { HttpProblem } from "./reply.ts";

/** A request that another server, or the same one in a moment, can answer: 503 with `Retry-After`. */
export function unavailable(message: string): HttpProblem {
  return new HttpProblem(503, "internal", {
    message,
    next: "Try again in a moment.",
    headers: { "retry-after": "1" },
  });
}

/**
 * The error of a request to one of many servers: that its database is away, or that it is about to end, is not the request's
 * fault and passes.
 * @param stopping the server's; undefined for the embedded service, whose errors stay as they are.
 */
export function asUnavailable(error: unknown, stopping: AbortSignal | undefined): unknown {
  if (stopping === undefined) return error;
  if (isDatabaseAway(error)) return unavailable("The database is out of reach.");
  if (error instanceof OrgBusyError) return unavailable("The org has too many requests at once.");
  if (stopping.aborted && !(error instanceof HttpProblem)) return unavailable("This server is about to end.");
  return error;
}

/** What the system and PostgreSQL say of a connection that can't be made, is broken off, or leads to a standby. */
const awayCodes =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0[123]|25006|25P03|08\w{3}|53300)$/;
/** What `pg` says of it, without a code. */
const awayMessages = /^Connection terminated|timeout exceeded when trying to connect|^Client has encountered/;

function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string" && awayCodes.test(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return awayMessages.test(error.message);
}
