import type { InputValue } from "../contract/pipelines.ts";
import type { Plan } from "./file/values.ts";
import type { Place, Problem } from "./mistakes/problem.ts";
import type { Step } from "./types/resourceTypes.ts";
import type { ResourceTypeName } from "./types/resultFields.ts";

export const inputTypes = ["text", "number", "boolean"] as const;

/** A value that a run is given by its name. */
export interface Input {
  readonly name: string;
  readonly type: (typeof inputTypes)[number];
  /** The values that it may have; undefined for any of its type. */
  readonly options?: readonly InputValue[] | undefined;
  /** Undefined where it has to be given. A text may have expressions with `env` and `run`. */
  readonly default?: InputValue | undefined;
  readonly description?: string | undefined;
}

/** Texts or values with expressions, by their names. */
type Written = Readonly<Record<string, unknown>>;

/**
 * Another pipeline file whose steps are a step of this one. They are in `Pipeline.steps` one after the other; its cleanup steps
 * come after those of the file that includes it. Expressions in `if` and in `given` are evaluated in the includer's scope.
 */
export interface Part extends Pick<Plan, "id" | "if" | "goesOn" | "isCleanup"> {
  readonly name: string;
  /** The part that includes it; undefined for the file itself. */
  readonly parent?: number | undefined;
  /** What the includer gives for its inputs. */
  readonly given: Written;
  readonly inputs: readonly Input[];
  /** The values that its id gives; their expressions are evaluated in the part's scope. */
  readonly outputs: Written;
}

/**
 * A pipeline ready to run: names are checked, defaults applied, each step is resolved against its resource, and parts are put in
 * place. Only the values of expressions are missing, which the runner fills in. It is plain JSON, since it is sent to the runner's
 * process.
 */
export interface Pipeline {
  readonly name: string;
  /** By which `pipeline run --tag` finds it. */
  readonly tags?: readonly string[] | undefined;
  readonly timeLimitSeconds: number;
  /** A file of variables, relative to the project's folder. The runner reads it. */
  readonly envFile?: string | undefined;
  /** The variables whose values are no secrets. */
  readonly unmasked?: readonly string[] | undefined;
  readonly resources: readonly { readonly name: string; readonly type: ResourceTypeName }[];
  readonly inputs?: readonly Input[] | undefined;
  readonly parts?: readonly Part[] | undefined;
  /** At least one, in the order in which they run; those that clean up are the last. */
  readonly steps: readonly Step[];
  /** How much of the time limit is the cleanup's, in milliseconds; undefined where nothing cleans up. */
  readonly cleanupMilliseconds?: number | undefined;
  /** What is kept of the run, with expressions. */
  readonly outputs?: Written | undefined;
}

/** A pipeline file as it was read. */
export type ParsedPipeline =
  | {
      readonly kind: "valid";
      readonly pipeline: Pipeline;
      /** What runs but is likely a mistake. */
      readonly warnings: readonly Problem[];
      /** The texts of its parts, by their paths in the project's folder. */
      readonly parts: ReadonlyMap<string, string>;
      /** The position of its name; the file's beginning when the file has none. */
      readonly nameAt: Place;
      /** The position of its `env-file`, likewise. */
      readonly envFileAt: Place;
    }
  | { readonly kind: "invalid"; readonly problems: readonly [Problem, ...Problem[]] };

/** The part of a `ParsedPipeline` that a start or a list needs. */
export type PipelineOrProblems =
  | Pick<Extract<ParsedPipeline, { kind: "valid" }>, "kind" | "pipeline">
  | Extract<ParsedPipeline, { kind: "invalid" }>;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const longestName = 200;

/** Whether a text can be a tag, or the name of a pipeline or a resource: at most 200 letters, digits, `.`, `_` and `-`. */
export function isName(text: string): boolean {
  return text.length <= longestName && namePattern.test(text);
}
