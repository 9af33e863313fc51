import type { Run } from "../../contract/run.ts";

/** Which ends of runs are announced, from the fewest to the most; the values of the setting `pipelineRuns.announce`. */
const announceLevels = ["none", "myFailures", "mine", "failures", "all"] as const;

export type AnnounceLevel = (typeof announceLevels)[number];

const announceByDefault = "myFailures" satisfies AnnounceLevel;

/** @param value what the settings hold, which may be anything. */
export function readAnnounceLevel(value: unknown): AnnounceLevel {
  return announceLevels.find((level) => level === value) ?? announceByDefault;
}

/** What an end is to a person. A status that is not known is no success. */
export function endKind({ status }: Pick<Run, "status">): "success" | "failure" | "cancelled" {
  return status === "succeeded" ? "success" : status === "cancelled" ? "cancelled" : "failure";
}

/** Whether the end of a run is announced. @param isMine whether this window's key started it. */
export function isAnnounced(level: AnnounceLevel, run: Pick<Run, "status">, isMine: boolean): boolean {
  const isFailure = endKind(run) === "failure";
  switch (level) {
    case "none":
      return false;
    case "myFailures":
      return isMine && isFailure;
    case "mine":
      return isMine;
    case "failures":
      return isFailure;
    case "all":
      return true;
    default:
      return level satisfies never;
  }
}

/** The level at which ends like this one are announced no more, and the others as before as far as there is such a level. */
export function quieterLevel(level: AnnounceLevel, run: Pick<Run, "status">, isMine: boolean): AnnounceLevel {
  if (endKind(run) !== "failure") return level === "all" ? "failures" : "myFailures";
  return isMine ? "none" : "myFailures";
}
