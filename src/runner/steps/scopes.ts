import type { Contexts } from "../../pipeline/expression/evaluate.ts";
import { ExpressionFault, type Json, type JsonMap, kindOf } from "../../pipeline/expression/value.ts";
import type { Job } from "../launch/protocol.ts";
import { Mask } from "../mask/mask.ts";
import { type Filling, writtenIn } from "../step/fillIn.ts";
import type { Expressions, Fresh } from "./expressions.ts";

/** What a run's expressions are filled in with, and what was read from them. */
interface OpenScopes {
  readonly scopes: Scopes;
  /** Masks the variables that the pipeline names. */
  readonly mask: Mask;
  /** Whether an expression refers to a step of this id. */
  readonly isNeeded: (id: string) => boolean;
}

/**
 * @param variable the value of a variable; undefined when it isn't set.
 * @param known what expressions find besides the file's own: the context `run`, and functions.
 */
export async function openScopes(
  job: Pick<Job, "pipeline" | "environment">,
  variable: Filling["variable"],
  { run, ...fresh }: Fresh & Pick<ScopesDeps, "run">,
): Promise<OpenScopes> {
  const { envFile, unmasked = [] } = job.pipeline;
  const written = writtenIn(job.pipeline);
  // Brings the parser, which most pipelines don't need.
  const loaded = written.expressions.size === 0 ? undefined : await import("./expressions.ts");
  const expressions = loaded && new loaded.Expressions(fresh);
  const referred = expressions?.referred(written.expressions);
  const secretOf = (name: string) => (unmasked.includes(name) ? [] : [variable(name) ?? []].flat());
  const mask = new Mask([...written.variables, ...(referred?.variables ?? [])].flatMap(secretOf));
  const start = `where the ${job.environment === undefined ? "service" : "run"} was started`;
  const scopes = new Scopes({
    variable: (name) => {
      // An expression may compute a name, so that it can't be read in the file.
      mask.add(secretOf(name));
      return variable(name);
    },
    variablesAt:
      envFile === undefined
        ? `${start}, and the pipeline names no \`env-file\``
        : `in \`${envFile}\` or ${start}`,
    run,
    expressions,
    mask,
  });
  const isNeeded = (id: string) => referred?.ids === "all" || referred?.ids.has(id) === true;
  return { scopes, mask, isNeeded };
}

export function runContext({ runId, pipeline, project, startedAt }: Job): JsonMap {
  return {
    id: runId,
    pipeline: pipeline.name,
    ...(project === undefined ? {} : { project }),
    ...(startedAt === undefined ? {} : { "started-at": startedAt }),
  };
}

interface ScopesDeps extends Pick<Filling, "variable" | "variablesAt"> {
  readonly run: JsonMap;
  /** Undefined for a pipeline that has none. */
  readonly expressions: Expressions | undefined;
  readonly mask: Mask;
}

/** What is known within the file, or within a part. */
interface Scope {
  readonly inputs: JsonMap;
  steps: JsonMap;
}

/** The values that expressions find: the file and each part have inputs and steps of their own. */
export class Scopes {
  readonly #deps: ScopesDeps;
  /** By the part's index; that of the file itself is undefined. */
  readonly #scopes = new Map<number | undefined, Scope>();

  constructor(deps: ScopesDeps) {
    this.#deps = deps;
  }

  begin(part: number | undefined, inputs: JsonMap, steps: JsonMap = {}): void {
    this.#scopes.set(part, { inputs, steps });
  }

  has(part: number | undefined): boolean {
    return this.#scopes.has(part);
  }

  /** Sets the value of `steps.<id>` from here on. */
  add(part: number | undefined, id: string | undefined, result: Json): void {
    const scope = this.#scopes.get(part);
    if (scope !== undefined && id !== undefined) scope.steps = { ...scope.steps, [id]: result };
  }

  /** @param own what only one step has. @param mask for what messages show. */
  at(
    part: number | undefined,
    own: Pick<Contexts, "each" | "this"> = {},
    mask: Mask = this.#deps.mask,
  ): Place {
    const { variable, variablesAt, run, expressions } = this.#deps;
    const contexts = (scope: number | undefined): Contexts => {
      const of = scope === undefined ? part : scope === 0 ? undefined : scope - 1;
      return { env: variable, run, ...this.#scopes.get(of), ...own };
    };
    const hide = (text: string) => mask.hide(text);
    const loaded = (): Expressions => {
      if (expressions === undefined) throw new Error("the expressions of this pipeline weren't looked at");
      return expressions;
    };
    return {
      variable,
      variablesAt,
      evaluate: (source, scope) => loaded().evaluate(source, contexts(scope), hide),
      explain: (source) => loaded().explain(source, contexts(undefined), hide),
    };
  }
}

export interface Place extends Filling {
  /** @returns why it isn't true. @throws ExpressionFault when it is neither true nor false. */
  readonly explain: (source: string) => string | undefined;
}

/** @throws ExpressionFault when the condition is neither true nor false. */
export function isTrue(condition: string, place: Place): boolean {
  const value = place.evaluate(condition, undefined);
  if (typeof value === "boolean") return value;
  throw new ExpressionFault(`\`if\` takes true or false, and \`${condition}\` is ${kindOf(value)}`);
}
