import { hash } from "node:crypto";
import type { Tools } from "../../pipeline/expression/callFunction.ts";
import { type Contexts, evaluate, explain } from "../../pipeline/expression/evaluate.ts";
import { type Expression, references } from "../../pipeline/expression/expression.ts";
import { parseExpression } from "../../pipeline/expression/parseExpression.ts";
import { ExpressionFault, type Json } from "../../pipeline/expression/value.ts";
import { firstMatch, PatternFault } from "../output/textSearch.ts";

const everywhere = ["env", "inputs", "steps", "run", "each", "this"] as const;

/** The functions that return another value at each call. */
export type Fresh = Pick<Tools, "now" | "uuid">;

interface Referred {
  readonly variables: ReadonlySet<string>;
  /** The ids of steps and parts; `all` where an expression computes one. */
  readonly ids: ReadonlySet<string> | "all";
}

/**
 * The expressions of a run, each parsed once. This file brings the parser, so it is loaded only for a pipeline that has more
 * than variables.
 */
export class Expressions {
  readonly #fresh: Fresh;
  readonly #parsed = new Map<string, Expression>();

  constructor(fresh: Fresh) {
    this.#fresh = fresh;
  }

  /** @throws ExpressionFault when it has no value. */
  evaluate(source: string, contexts: Contexts, hide: Tools["hide"]): Json {
    return evaluate(this.#parse(source), contexts, this.#tools(hide));
  }

  /** @returns why it isn't true, see `explain`. @throws ExpressionFault when it is neither true nor false. */
  explain(source: string, contexts: Contexts, hide: Tools["hide"]): string | undefined {
    return explain(this.#parse(source), contexts, this.#tools(hide));
  }

  referred(sources: Iterable<string>): Referred {
    const variables = new Set<string>();
    const ids = new Set<string>();
    let isAll = false;
    for (const source of sources) {
      for (const { context, path } of this.#references(source)) {
        const [first] = path;
        if (context === "env" && first !== undefined) variables.add(String(first.name));
        if (context === "steps" && first === undefined) isAll = true;
        if (context === "steps" && first !== undefined) ids.add(String(first.name));
      }
    }
    return { variables, ids: isAll ? "all" : ids };
  }

  /** Empty for an invalid expression, which fails once it is evaluated. */
  #references(source: string): ReturnType<typeof references> {
    try {
      return references(this.#parse(source));
    } catch (error) {
      if (error instanceof ExpressionFault) return [];
      throw error;
    }
  }

  #parse(source: string): Expression {
    const known = this.#parsed.get(source);
    if (known !== undefined) return known;
    const parsed = parseExpression(source, everywhere);
    // The file's own check comes before a run, so only a pipeline that was made elsewhere has one that is invalid.
    if (parsed.kind === "invalid") throw new ExpressionFault(`\`${source}\`: ${parsed.problem}`);
    this.#parsed.set(source, parsed.expression);
    return parsed.expression;
  }

  #tools(hide: Tools["hide"]): Tools {
    return {
      ...this.#fresh,
      sha256: (text) => hash("sha256", text),
      match: (pattern, text) => {
        try {
          return firstMatch(pattern, text);
        } catch (error) {
          throw error instanceof PatternFault ? new ExpressionFault(error.message) : error;
        }
      },
      hide,
    };
  }
}
