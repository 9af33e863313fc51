import assert from "node:assert/strict";
import fc from "fast-check";
import { evaluate, explain } from "../../../src/pipeline/expression/evaluate.ts";
import { references } from "../../../src/pipeline/expression/expression.ts";
import { ExpressionFault, type Json, type JsonMap } from "../../../src/pipeline/expression/value.ts";
import { parsed, tools } from "./given.ts";

const comparisons = ["==", "!=", "<", "<=", ">", ">="] as const;
const called = ["contains", "startsWith", "length", "exists", "default", "lower", "number"] as const;

/** An expression, simpler than what the parser makes: the test evaluates it in its own way. */
type Tree =
  | { readonly kind: "literal"; readonly value: null | boolean | number | bigint | string }
  | { readonly kind: "path"; readonly steps: readonly (string | number | Tree | "*")[] }
  | { readonly kind: "not"; readonly of: Tree }
  | { readonly kind: "both" | "either"; readonly of: readonly Tree[] }
  | {
      readonly kind: "compare";
      readonly by: (typeof comparisons)[number];
      readonly of: readonly [Tree, Tree];
    }
  | { readonly kind: "call"; readonly name: (typeof called)[number]; readonly of: readonly [Tree, Tree] };

const names = ["a", "b-c", "id", "__proto__", "constructor", "toString", "length", "0"];
const numbers = fc.oneof(
  fc.integer({ min: -2, max: 3 }),
  fc.constantFrom(0.5, -0, 1e300, 2 ** 53, 2n ** 53n, 1n, 9007199254740993n, -9007199254740993n, 2n ** 70n),
);
const plain = fc.oneof(
  numbers,
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom("", "a", "A", "it's", "''", "\n", "1", " 2 ", "x}}", "😀", "true"),
);

const { data } = fc.letrec<{ data: Json; list: Json; map: Json }>((tie) => ({
  data: fc.oneof({ depthSize: "small", withCrossShrink: true }, plain, tie("map"), tie("list")),
  list: fc.array(tie("data"), { maxLength: 3 }),
  map: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), tie("data")), {
      selector: ([name]) => name,
      maxLength: 4,
    })
    .map((members) => Object.fromEntries(members)),
}));
const inputs: fc.Arbitrary<JsonMap> = fc
  .array(fc.tuple(fc.constantFrom(...names), data), { maxLength: 8 })
  .map((members) => Object.fromEntries(members));

const { tree: trees } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "medium", maxDepth: 5, withCrossShrink: true },
    { arbitrary: plain.map((value): Tree => ({ kind: "literal", value })), weight: 2 },
    {
      arbitrary: fc
        .array(fc.oneof({ arbitrary: fc.constantFrom(...names, 0, 1, "*"), weight: 9 }, tie("tree")), {
          minLength: 1,
          maxLength: 4,
        })
        .map((steps): Tree => ({ kind: "path", steps })),
      weight: 4,
    },
    tie("tree").map((of): Tree => ({ kind: "not", of })),
    fc
      .tuple(fc.constantFrom("both", "either"), fc.array(tie("tree"), { minLength: 2, maxLength: 3 }))
      .map(([kind, of]): Tree => ({ kind, of })),
    fc
      .tuple(fc.constantFrom(...comparisons), tie("tree"), tie("tree"))
      .map(([by, ...of]): Tree => ({ kind: "compare", by, of })),
    fc
      .tuple(fc.constantFrom(...called), tie("tree"), tie("tree"))
      .map(([name, ...of]): Tree => ({ kind: "call", name, of })),
  ),
}));

const takesTwo = new Set<string>(["contains", "startsWith", "default"]);

function write(tree: Tree): string {
  switch (tree.kind) {
    case "literal":
      return typeof tree.value === "string" ? `'${tree.value.replaceAll("'", "''")}'` : written(tree.value);
    case "path":
      return tree.steps.reduce<string>((before, step) => {
        if (typeof step === "object") return `${before}[ ${write(step)} ]`;
        if (typeof step === "number" || step === "0")
          return `${before}[${JSON.stringify(step).replaceAll('"', "'")}]`;
        return `${before}.${step}`;
      }, "inputs");
    case "not":
      return `!(${write(tree.of)})`;
    case "both":
    case "either":
      return tree.of.map((part) => `(${write(part)})`).join(tree.kind === "both" ? " && " : "\n||");
    case "compare":
      return tree.of.map((part) => `( ${write(part)})`).join(` ${tree.by}\t`);
    case "call":
      return `${tree.name}(${tree.of
        .slice(0, takesTwo.has(tree.name) ? 2 : 1)
        .map(write)
        .join(" , ")})`;
    default:
      return tree satisfies never;
  }
}

function written(value: null | boolean | number | bigint): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/** Thrown for an expression without a value, with the reason. */
class NoValue {
  readonly isMissing: boolean;
  constructor(isMissing: boolean) {
    this.isMissing = isMissing;
  }
}

const isNumber = (value: Json) => typeof value === "number" || typeof value === "bigint";

/** One text for all values that are equal. */
function canonical(value: Json): string {
  if (typeof value === "number") return Number.isInteger(value) ? String(BigInt(value)) : String(value);
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`);
  return `{${members.sort().join()}}`;
}

/** Below, at or above 0. */
function order(one: Json, other: Json): number {
  if (typeof one === "string" && typeof other === "string") return one === other ? 0 : one < other ? -1 : 1;
  if (!isNumber(one) || !isNumber(other)) throw new NoValue(false);
  if (canonical(one) === canonical(other)) return 0;
  const exact = [one, other].every((value) => typeof value === "bigint" || Number.isInteger(value));
  if (!exact) return Number(one) < Number(other) ? -1 : 1;
  return BigInt(canonical(one)) < BigInt(canonical(other)) ? -1 : 1;
}

function read(owner: Json, name: Json): Json | undefined {
  if (typeof owner !== "object" || owner === null) return undefined;
  const wanted = Array.isArray(owner) ? isNumber(name) : typeof name === "string";
  return wanted ? new Map(Object.entries(owner)).get(canonical(name).replace(/^"|"$/g, "")) : undefined;
}

function meaning(tree: Tree, given: JsonMap): Json {
  const truth = (part: Tree): boolean => {
    const value = meaning(part, given);
    if (typeof value !== "boolean") throw new NoValue(false);
    return value;
  };
  switch (tree.kind) {
    case "literal":
      return tree.value;
    case "path":
      return follow(tree.steps, given);
    case "not":
      return !truth(tree.of);
    case "both":
      for (const part of tree.of) if (!truth(part)) return false;
      return true;
    case "either":
      for (const part of tree.of) if (truth(part)) return true;
      return false;
    case "compare": {
      const one = meaning(tree.of[0], given);
      const other = meaning(tree.of[1], given);
      const isEqual = canonical(one) === canonical(other);
      if (tree.by === "==" || tree.by === "!=") return isEqual === (tree.by === "==");
      const sign = order(one, other);
      return tree.by.endsWith("=") && sign === 0 ? true : tree.by.startsWith("<") ? sign < 0 : sign > 0;
    }
    case "call":
      return call(tree.name, tree.of[0], tree.of[1], given);
    default:
      return tree satisfies never;
  }
}

function follow(steps: Extract<Tree, { kind: "path" }>["steps"], given: JsonMap): Json {
  let values: readonly Json[] = [given];
  let isMany = false;
  for (const step of steps) {
    const name = typeof step === "object" ? meaning(step, given) : step;
    const found = values.map((value) => {
      if (step !== "*") return [read(value, name)].filter((item) => item !== undefined);
      return typeof value === "object" && value !== null ? Object.values(value) : undefined;
    });
    if (!isMany && (found[0] === undefined || (step !== "*" && found[0].length === 0)))
      throw new NoValue(true);
    isMany ||= step === "*";
    values = found.flatMap((items) => items ?? []);
  }
  return isMany ? values : (values[0] ?? null);
}

function call(name: (typeof called)[number], first: Tree, second: Tree, given: JsonMap): Json {
  const isThere = () => {
    try {
      meaning(first, given);
      return true;
    } catch (error) {
      if (error instanceof NoValue && error.isMissing) return false;
      throw error;
    }
  };
  if (name === "exists") return isThere();
  if (name === "default") return meaning(isThere() ? first : second, given);
  const value = meaning(first, given);
  if (name === "length" && typeof value === "object" && value !== null) return Object.entries(value).length;
  if (name === "contains" && Array.isArray(value)) {
    const what = meaning(second, given);
    return value.some((item) => holds(item, what, typeof what === "object" && !Array.isArray(what)));
  }
  if (typeof value !== "string") throw new NoValue(false);
  if (name === "length") return Array.from(value).length;
  if (name === "lower") return value === "A" ? "a" : value;
  if (name === "number") {
    if (value !== "1" && value !== " 2 ") throw new NoValue(false);
    return value === "1" ? 1 : 2;
  }
  const what = meaning(second, given);
  if (typeof what !== "string") throw new NoValue(false);
  const at = value.split("").findIndex((_, index) => value.slice(index, index + what.length) === what);
  return what === "" || (name === "contains" ? at !== -1 : at === 0);
}

/** Whether a value is as expected; where maps may have more members, at any depth. */
function holds(got: Json, expected: Json, isPart: boolean): boolean {
  if (!isPart || typeof expected !== "object" || expected === null)
    return canonical(got) === canonical(expected);
  if (typeof got !== "object" || got === null || Array.isArray(got) !== Array.isArray(expected)) return false;
  const members = Object.entries(expected);
  if (Array.isArray(expected) && members.length !== Object.entries(got).length) return false;
  const own = new Map(Object.entries(got));
  return members.every(([name, value]) => {
    const item = own.get(name);
    return item !== undefined && holds(item, value, true);
  });
}

describe("any expression", () => {
  it("has the value, or the reason for none, that the language gives it", () => {
    const seen = { values: 0, missing: 0, faults: 0 };
    fc.assert(
      fc.property(trees, inputs, (tree, given) => {
        const text = write(tree);
        const expression = parsed(text);
        for (const { at, length, context } of references(expression)) {
          assert.equal(text.slice(at, at + length), context);
        }
        const contexts = { env: () => undefined, inputs: given };
        let expected: Json;
        try {
          expected = meaning(tree, given);
        } catch (reason) {
          assert(reason instanceof NoValue);
          seen[reason.isMissing ? "missing" : "faults"] += 1;
          const isExpected = (error: unknown) =>
            error instanceof ExpressionFault && error.isMissing === reason.isMissing;
          assert.throws(() => evaluate(expression, contexts, tools), isExpected, text);
          assert.throws(() => explain(expression, contexts, tools), isExpected, text);
          return;
        }
        seen.values += 1;
        assert.equal(canonical(evaluate(expression, contexts, tools)), canonical(expected), text);
        if (typeof expected === "boolean") {
          assert.equal(explain(expression, contexts, tools) === undefined, expected, text);
        }
      }),
      { numRuns: Number(process.env["FC_RUNS"] ?? 2000), seed: Number(process.env["FC_SEED"] ?? 20_261_125) },
    );
    assert(Math.min(seen.values, seen.missing, seen.faults) > 20, JSON.stringify(seen));
  });
});
