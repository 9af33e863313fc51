import * as z from "zod/mini";
import { instant, lenient, lenientBut } from "./fields.ts";
import { longestFromStep } from "./fromStep.ts";
import { keyNameSchema } from "./keys.ts";
import { largestFile, longestBranch, timeLimit } from "./limits.ts";
import { givenInputsSchema, inputNamePattern, inputValuesSchema, projectNameSchema } from "./pipelines.ts";
import { failedStep, runStatuses } from "./runStatus.ts";

/** The commit that a project's folder was at when a run began. */
export const commitSchema = z.object({
  id: z.string().check(z.regex(/^[0-9a-f]{40,64}$/)),
  /** Absent if no branch was checked out. */
  branch: z.optional(z.string().check(z.maxLength(longestBranch))),
  /** Whether the folder had uncommitted changes or untracked files that aren't ignored. */
  changed: z.boolean(),
});

/** `GET /api/runs/{id}/pipeline`: a run's pipeline file at `path` and the files it includes, as they ran; secrets are masked. */
export const ranPipelineSchema = z.object({ path: z.string(), texts: z.record(z.string(), z.string()) });

/** `GET /api/runs/{id}/changes`: what changed since the previous successful run of the same pipeline. */
export const changesSchema = z.object({
  /** Absent if no earlier successful run is known. */
  lastPassed: z.optional(
    z.object({
      runId: z.string(),
      createdAt: instant,
      commit: z.optional(commitSchema),
      /** The inputs that run was given (`inputsForRerun`); absent if they aren't known. */
      inputs: z.optional(inputValuesSchema),
    }),
  ),
  /** A unified diff of each changed file, by path; absent if the files of either run aren't kept. */
  diffs: z.optional(z.record(z.string(), z.string())),
});

export type Commit = z.infer<typeof commitSchema>;
export type RanPipeline = z.infer<typeof ranPipelineSchema>;
export type Changes = z.infer<typeof changesSchema>;

export const stepSchema = z.object({
  name: z.string(),
  type: z.string(),
  status: z.string(),
  startedAt: z.optional(instant),
  stoppedAt: z.optional(instant),
  message: z.optional(z.string()),
  /** How often the step was tried; absent for a step without retries. */
  attempts: z.optional(z.int().check(z.positive())),
  /** Present for a step that runs after all others, whatever their outcome. */
  cleanup: z.optional(z.literal(true)),
});

/** A file that a step kept: `GET /api/runs/{id}/artifacts/{file}`. */
export const artifactSchema = z.object({
  /** The name that people see. */
  name: z.string(),
  file: z.string(),
  stepIndex: z.int().check(z.nonnegative()),
  mediaType: z.string(),
  bytes: z.int().check(z.nonnegative()),
  at: instant,
});

/** A run as this project's service sends it. */
export const servedRunSchema = z.object({
  runId: z.string(),
  pipeline: z.string(),
  project: z.string(),
  status: z.string(),
  actor: z.string(),
  /** The name of the actor's key; absent for a key without one. */
  actorName: z.optional(keyNameSchema),
  runner: z.string(),
  /** When its start request arrived; until `createdAt` it waited for a slot. */
  askedAt: z.optional(instant),
  createdAt: instant,
  stoppedAt: z.optional(instant),
  timeLimitSeconds: z.int().check(z.positive()),
  reason: z.optional(z.string()),
  /** The name of the key that cancelled the run, which `reason` names by id; absent for a key without a name. */
  cancellerName: z.optional(keyNameSchema),
  /** Fixed when the run starts; absent for a pipeline without inputs. */
  inputs: z.optional(inputValuesSchema),
  /** The inputs whose values the run evaluated when it began; values from its environment are masked. */
  evaluatedInputs: z.optional(z.array(z.string())),
  /** The outputs that the pipeline declares, masked: any JSON values. */
  outputs: z.optional(z.record(z.string(), z.unknown())),
  /** The coding agent that started the run with the actor's key, under the name it gives itself. */
  agent: z.optional(z.string()),
  /** The commit of the project's folder when the run began; absent if unknown, as without git. */
  commit: z.optional(commitSchema),
  steps: z.optional(z.array(stepSchema)),
  artifacts: z.optional(z.array(artifactSchema)),
});

/**
 * A run as a client reads it from any service, with the fewest required fields (contract: "What a client may ask of a reply"). A
 * run without an `actor` belongs to nobody.
 */
export const runSchema = lenientBut(servedRunSchema, ["runId", "status"]);

const cursor = z.optional(z.string());

/** `GET /api/runs` as this project's service sends it, and as a client reads it. */
export const servedRunListSchema = z.object({ runs: z.array(servedRunSchema), next: cursor });
export const runListSchema = z.object({ runs: z.array(runSchema), next: lenient(cursor) });

/** The reply of `POST /api/runs/{id}/cancel`. */
export const cancelReplySchema = z.object({
  runId: z.string(),
  status: z.string(),
  /** Set if the status couldn't be written, and so may be lost when the service ends. */
  warning: z.optional(z.string()),
});

/** The query of `GET /api/runs`. `after` is the previous page's `next`; `actor` is a key's id or `me`. */
export const runQuerySchema = z.object({
  status: z.optional(
    z.enum(["in-work", ...runStatuses], `it should be in-work or one of: ${runStatuses.join(", ")}`),
  ),
  actor: z.optional(z.string()),
  project: z.optional(z.string()),
  pipeline: z.optional(z.string()),
  /** Only runs with all of these input values, each as `name=value`. */
  input: z.optional(
    z
      .array(
        z
          .string()
          .check(z.refine((text) => inputNamePattern.test(nameIn(String(text))), "it should be name=value")),
      )
      .check(z.maxLength(10)),
  ),
  /** Only runs created at or after `since` and before `until`. */
  since: z.optional(instant),
  until: z.optional(instant),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
  after: z.optional(z.string()),
});

/** The name in `name=value`; empty if there is no `=`. */
function nameIn(text: string): string {
  return text.slice(0, Math.max(0, text.indexOf("=")));
}

/** PostgreSQL can't store NUL in a text. */
const withoutNul = z.refine((text) => !String(text).includes("\0"), "it holds a NUL character");

/** The header `Idempotency-Key`: the caller's name for a start request. */
export const idempotencyKeySchema = z.string().check(z.minLength(1), z.maxLength(255), withoutNul);

/** The header of a start by a coding agent, which holds the agent's name: printable ASCII, as a header requires. */
export const agentHeader = "agent";
export const agentSchema = z.string().check(z.regex(/^[!-~](?:[ -~]{0,98}[!-~])?$/));

/** Makes a name fit the header. @returns undefined if no printable character is left. */
export function agentName(name: string): string | undefined {
  const printable = name
    .replaceAll(/[^ -~]+/g, "?")
    .trim()
    .slice(0, 100)
    .trim();
  return printable === "" ? undefined : printable;
}

const filePath = z.string().check(z.minLength(1), z.maxLength(1000), withoutNul);
const fileText = z.string().check(z.maxLength(largestFile), withoutNul);
/** The most files that a pipeline includes. */
export const mostParts = 20;

/**
 * A pipeline file that a start request brings to a service without the project's folder. `snapshot` is the SHA-256, in hex, of
 * the project's other files, which the service has already.
 */
const runDefinitionSchema = z.strictObject({
  path: filePath,
  text: fileText,
  /** The files it includes, by path. */
  parts: z.optional(
    z
      .record(filePath, fileText)
      .check(z.refine((parts) => Object.keys(parts).length <= mostParts, `at most ${mostParts} files`)),
  ),
  snapshot: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/))),
  /** The commit of the project's folder. */
  commit: z.optional(commitSchema),
});

/** `from-step`: the name or number of the step that a run begins with; earlier ones are skipped. */
export const fromStepSchema = z.string().check(z.minLength(1), z.maxLength(longestFromStep));
const fromStep = z.optional(fromStepSchema);
const inputs = z.optional(givenInputsSchema);

/**
 * The work of a runner on another machine. Strict, so that an older runner refuses what it doesn't know rather than run steps to
 * be skipped or a run without its inputs. `inputs` are complete except for those that the runner evaluates.
 */
export const runWorkSchema = z.strictObject({
  ...z.omit(runDefinitionSchema, { commit: true }).shape,
  fromStep,
  inputs,
});

/** The variables of a start's caller, each as `NAME=value`: not a map, whose keys would be renamed on the wire. */
const environmentSchema = z.array(z.string().check(z.regex(/^[^=\0]+=[^\0]*$/, "it should be NAME=value")));

/**
 * The body of `POST /api/runs`. A service that runs pipelines in their folder ignores `definition`; only this machine's own
 * service accepts an `environment`, and only with the machine's key.
 */
export const startRequestSchema = z.strictObject({
  environment: z.optional(environmentSchema),
  fromStep,
  inputs,
  pipeline: z.string().check(z.minLength(1), z.maxLength(200), withoutNul),
  project: z.optional(projectNameSchema),
  timeLimitSeconds: z.optional(z.int().check(z.positive(), z.maximum(timeLimit.atMost))),
  definition: z.optional(runDefinitionSchema),
});

export type RunWork = z.infer<typeof runWorkSchema>;
export type RunDefinition = z.infer<typeof runDefinitionSchema>;
export type RunStep = z.infer<typeof stepSchema>;
export type Artifact = z.infer<typeof artifactSchema>;
export type ServedRun = z.infer<typeof servedRunSchema>;
export type Run = z.infer<typeof runSchema>;
export type RunListPage = z.infer<typeof runListSchema>;
export type CancelReply = z.infer<typeof cancelReplySchema>;
export type StartRequest = z.infer<typeof startRequestSchema>;

/** A run's name for people: its pipeline, or its id if the service omits the pipeline. */
export function nameOf(run: Pick<Run, "runId" | "pipeline">): string {
  return run.pipeline ?? run.runId;
}

/** Who started a run, for people: the name of the actor's key, or its id where the name is absent. */
export function actorText({ actor, actorName }: Pick<Run, "actor" | "actorName">): string | undefined {
  return actor && (actorName ?? actor);
}

/** Who started a run, with the id to copy: `you (key_…)`, `ada (key_…)`, or the id alone. @param me as for {@link reasonText}. */
export function startedBy(
  { actor, actorName }: Pick<Run, "actor" | "actorName">,
  me?: string,
): string | undefined {
  const who = actor !== undefined && actor === me ? "you" : actorName;
  return actor && who ? `${who} (${actor})` : actor;
}

/** The start of a cancelled run's reason, before the id of the key that cancelled it. */
export const cancelledBy = "cancelled by ";

/**
 * Why a run ended, for its reader: "you" in place of the reader's own key, and the name of any other key.
 * @param me the id of the reader's key, if known.
 */
export function reasonText(
  { reason, cancellerName }: Pick<Run, "reason" | "cancellerName">,
  me: string | undefined,
): string | undefined {
  if (reason === undefined || !reason.startsWith(cancelledBy)) return reason;
  if (me !== undefined && reason === cancelledBy + me) return `${cancelledBy}you`;
  return cancellerName === undefined ? reason : cancelledBy + cancellerName;
}

/** The first line of {@link reasonText}, without tabs. Any further lines are output. */
export function reasonLine(
  run: Pick<Run, "reason" | "cancellerName">,
  me: string | undefined,
): string | undefined {
  return reasonText(run, me)?.split("\n", 1)[0]?.replace(/:$/, "").replaceAll("\t", " ");
}

/** The same for a list of runs; undefined for "cancelled by you", which the status already says. */
export function listedReason(...[run, me]: Parameters<typeof reasonLine>): string | undefined {
  const reason = reasonLine(run, me);
  return reason === `${cancelledBy}you` ? undefined : reason;
}

/** The failed step whose message the run's reason repeats, with its index. */
export function failureInReason(
  run: Pick<Run, "status" | "stoppedAt" | "steps" | "reason">,
): { readonly index: number; readonly step: RunStep } | undefined {
  const failed = failedStep(run);
  return failed?.step.message !== undefined && run.reason === `${failed.step.name}: ${failed.step.message}`
    ? failed
    : undefined;
}
