import { isInWork, type Run, type Step } from "../../contract/run.ts";
import type { Row } from "./row.ts";

/** The icon of a status, in colours that each theme has for the outcomes of tests. */
export function statusIcon(of: Pick<Run | Step, "status" | "stoppedAt">): NonNullable<Row["icon"]> {
  switch (of.status) {
    case "running":
      return { id: "loading~spin" };
    case "cancelling":
      return { id: "stop-circle", color: "testing.iconSkipped" };
    case "succeeded":
      return { id: "pass", color: "testing.iconPassed" };
    case "failed":
      return { id: "error", color: "testing.iconFailed" };
    case "timed-out":
      return { id: "watch", color: "testing.iconFailed" };
    case "lost":
      return { id: "debug-disconnect", color: "testing.iconErrored" };
    case "cancelled":
    case "stopped":
      return { id: "circle-slash", color: "testing.iconSkipped" };
    default:
      return isInWork(of) ? { id: "loading~spin" } : { id: "question", color: "testing.iconUnset" };
  }
}
