import type { Run } from "./run.ts";

/** Whether a run still holds its place. A status that is not known counts by the absence of `stopped-at`. */
export function isActive(run: Pick<Run, "status" | "stoppedAt">): boolean {
  switch (run.status) {
    case "running":
    case "cancelling":
      return true;
    case "succeeded":
    case "failed":
    case "cancelled":
    case "timed-out":
    case "lost":
      return false;
    default:
      return run.stoppedAt === undefined;
  }
}
