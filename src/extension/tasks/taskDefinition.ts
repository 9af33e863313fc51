import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { timeLimit } from "../../contract/limits.ts";
import { startRequestSchema } from "../../contract/run.ts";
import { parseDuration } from "../../pipeline/duration.ts";

/** The `type` of a task that runs a pipeline. */
export const taskType = "pipeline";

/** What a task of `tasks.json` asks for. */
export interface PipelineTask {
  readonly pipeline: string;
  /** The name of a project; the one of the task's own folder when left out. */
  readonly project: string | undefined;
  /** The pipeline's own limit when left out. */
  readonly timeLimitSeconds: number | undefined;
}

const definitionSchema = z.looseObject({
  pipeline: startRequestSchema.shape.pipeline,
  project: startRequestSchema.shape.project,
  timeLimit: z.optional(z.union([z.number(), z.string()])),
});

/** Reads a task's definition, which a person has written. @throws PipelineError `usage` naming what is wrong with it. */
export function readTaskDefinition(definition: unknown): PipelineTask {
  const read = definitionSchema.safeParse(definition);
  if (!read.success) {
    const [wrong] = read.error.issues;
    throw unusable(String(wrong?.path[0] ?? "pipeline"));
  }
  const { pipeline, project, timeLimit: written } = read.data;
  const seconds = written === undefined ? undefined : secondsOf(written);
  return { pipeline, project, timeLimitSeconds: seconds };
}

function secondsOf(written: number | string): number {
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= timeLimit.atMost) return seconds;
  throw unusable("timeLimit");
}

function unusable(property: string): PipelineError {
  const next =
    property === "timeLimit"
      ? t("A time limit is a whole number of seconds, or a text such as 5m; 1h at most.")
      : t("It should be a name of 1 to 200 characters.");
  return new PipelineError("usage", t("The task's property {0} can't be used.", `"${property}"`), { next });
}
