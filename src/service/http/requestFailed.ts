import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";

interface FailedRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  /** Whether nobody is there any more who could be told. */
  readonly callerLeft: boolean;
}

/** Writes down an error that is the service's own; what a caller did wrong is told to the caller alone. */
export function logFailure(log: Log, error: unknown, { callerLeft, ...request }: FailedRequest): void {
  if (error instanceof PipelineError && error.type !== "internal") return;
  // A caller who leaves before its body is read is no fault of the service.
  log(callerLeft ? "debug" : "error", "request failed", { ...request, error });
}
