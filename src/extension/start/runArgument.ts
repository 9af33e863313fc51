import { join } from "node:path";
import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { timeLimit } from "../../contract/limits.ts";
import { givenInputsSchema } from "../../contract/pipelines.ts";
import { fromStepSchema, type StartRequest } from "../../contract/run.ts";
import { readTimeLimit } from "../../pipeline/file/duration.ts";
import { duration } from "../../text/time.ts";

/** The argument of `pipelineRuns.run`. */
export type RunArgument =
  /** The person picks. */
  | { readonly kind: "pick" }
  | { readonly kind: "named"; readonly start: StartRequest }
  /** A pipeline file on this machine, by its absolute path, with the pipeline's name if the caller knows it. */
  | { readonly kind: "file"; readonly path: string; readonly pipeline?: string };

/** The row or lens of a pipeline file. It has no project name, since the service may know the project by another. */
const fileItemSchema = z.object({
  root: z.string().check(z.minLength(1)),
  path: z.string().check(z.regex(/^pipelines\/[^/]+\.yaml$/)),
  pipeline: z.string().check(z.minLength(1), z.maxLength(200)),
});

const fileSchema = z.object({ scheme: z.string(), fsPath: z.string(), path: z.string() });

const namedSchema = z.object({
  pipeline: z.string().check(z.minLength(1), z.maxLength(200)),
  project: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  timeLimit: z.optional(z.union([z.number(), z.string()])),
  fromStep: z.optional(fromStepSchema),
  inputs: z.optional(givenInputsSchema),
});

const knownKeys = ["pipeline", "project", "timeLimit", "fromStep", "inputs"];

/**
 * Reads the argument of `pipelineRuns.run` from a keybinding, a menu or another extension: a name, `{ pipeline, project?,
 * timeLimit?, fromStep?, inputs? }`, an item of a view, or the URI of a pipeline file.
 * @throws PipelineError `invalid-request` that says what the command accepts.
 */
export function readRunArgument(given: unknown): RunArgument {
  if (given === undefined || given === null) return { kind: "pick" };
  if (typeof given === "string") return { kind: "named", start: readStart({ pipeline: given }) };
  if (typeof given !== "object") throw unreadable(t("it is a {0}", typeof given));
  const file = z.safeParse(fileSchema, given);
  if (file.success) {
    const { scheme, fsPath } = file.data;
    if (scheme !== "file") throw unreadable(t("the file is not on this machine"));
    return { kind: "file", path: fsPath };
  }
  const item = z.safeParse(fileItemSchema, given);
  if (item.success) {
    const { root, path, pipeline } = item.data;
    return { kind: "file", path: join(root, path), pipeline };
  }
  return { kind: "named", start: readStart(given) };
}

/**
 * Reads a start request that a keybinding, another extension or a task gives as `{ pipeline, project?, timeLimit?, fromStep?,
 * inputs? }`. Other fields are ignored, since a view's item and a task's definition have some, unless a name is nearly one of
 * these: that is a typing error.
 * @throws PipelineError `invalid-request` that names the field.
 */
export function readStart(given: object): StartRequest {
  for (const key of Object.keys(given)) {
    const meant = knownKeys.find((known) => key !== known && isSlipOf(known, key));
    if (meant !== undefined) throw unreadable(t("`{0}` is written `{1}`", key, meant));
  }
  const read = z.safeParse(namedSchema, given);
  if (!read.success) {
    const [field = "pipeline", ...within] = (read.error.issues[0]?.path ?? []).map(String);
    throw unreadable(
      field === "inputs"
        ? t(
            "`{0}` is not an input: a text, a number, true or false by its name",
            [field, ...within].join("."),
          )
        : t("`{0}` is missing or not what it should be", field),
    );
  }
  const { pipeline, project, fromStep, timeLimit: written, inputs = {} } = read.data;
  const timeLimitSeconds = written === undefined ? undefined : readTimeLimit(written);
  if (written !== undefined && timeLimitSeconds === undefined) {
    throw unreadable(
      t("`timeLimit` is seconds or a text like `5m`, from 1 s to {0}", duration(timeLimit.atMost * 1000)),
    );
  }
  const hasInputs = Object.keys(inputs).length > 0;
  return { pipeline, project, timeLimitSeconds, fromStep, ...(hasInputs && { inputs }) };
}

/** Whether a key looks like a misspelt known key; for a time limit also with a unit, as in `timeLimitSeconds`. */
function isSlipOf(known: string, key: string): boolean {
  return known === "timeLimit" ? plain(key).startsWith(plain(known)) : plain(key) === plain(known);
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[-_]|s$/g, "");
}

function unreadable(why: string): PipelineError {
  return new PipelineError("invalid-request", t("The start request can't be read: {0}.", why), {
    next: t(
      "It is a name, or an object with `pipeline` and, if wanted, `project`, `timeLimit` and `inputs`.",
    ),
  });
}
