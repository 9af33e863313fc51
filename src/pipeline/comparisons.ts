import type { Node } from "./expression/expression.ts";
import type { FunctionName } from "./expression/names.ts";
import { described, type Found, typeOf } from "./expressionProblems.ts";
import type { KnownNames, KnownStep } from "./knownNames.ts";
import { quoted } from "./mistakes/problem.ts";
import type { Input } from "./pipeline.ts";
import { outcomes } from "./types/resultFields.ts";

/** What to know of a value before the run. */
interface Known {
  readonly type: Input["type"];
  /** The values that it may have, where they are few. */
  readonly options?: readonly unknown[] | undefined;
}

/**
 * The `==` and `!=` of an expression whose result is certain before the run: nothing is converted, so values of two types are
 * never equal. @param step its step.
 */
export function inComparisons(
  node: Node,
  text: string,
  step: KnownStep | undefined,
  names: KnownNames,
): readonly Found[] {
  const inside = (part: Node) => inComparisons(part, text, step, names);
  if (node.kind === "not") return inside(node.operand);
  if (node.kind === "logical") return node.operands.flatMap(inside);
  if (node.kind === "call") return node.args.flatMap(inside);
  if (node.kind !== "compare") return [];
  const { left, right, operator } = node;
  const why = operator === "==" || operator === "!=" ? whyNeverEqual(left, right) : undefined;
  if (why === undefined) return [...inside(left), ...inside(right)];
  return [{ at: node.at, problem: `${shown(node)} is always ${operator === "!="}: ${why}` }];

  function shown({ at, length }: Node): string {
    return `\`${quoted(text.slice(at, at + length))}\``;
  }

  function whyNeverEqual(one: Node, other: Node): string | undefined {
    if (one.kind === "literal" && other.kind !== "literal") return whyNeverEqual(other, one);
    const [known, than] = [knownOf(one, step, names), knownOf(other, step, names)];
    if (known === undefined || than === undefined) return undefined;
    const value = other.kind === "literal" ? other.value : undefined;
    if (known.type !== than.type) {
      const is = `${shown(one)} is ${described[known.type]}`;
      if (value === undefined)
        return `${is}, and ${shown(other)} ${described[than.type]}; \`text(…)\` makes a text of either`;
      const meant =
        known.type === "text" ? `'${text.slice(other.at, other.at + other.length)}'` : String(value);
      const fits = { text: /^/, number: /^-?\d+(?:\.\d+)?$/, boolean: /^(?:true|false)$/ }[known.type];
      return fits.test(String(value)) ? `${is}; compare it with \`${quoted(meant)}\`` : is;
    }
    if (value === undefined || known.options === undefined || known.options.includes(value)) return undefined;
    return `${shown(one)} is one of ${known.options.map((option) => `\`${quoted(String(option))}\``).join(", ")}`;
  }
}

const numbers: readonly string[] = ["time", "attempts", "status", "row-count", "exit-code"];
const texts: readonly string[] = ["text", "output", "stdout", "stderr", "url", "title"];

const given: Readonly<Partial<Record<FunctionName, Input["type"]>>> = {
  ...{ contains: "boolean", startsWith: "boolean", endsWith: "boolean", exists: "boolean" },
  ...{ length: "number", number: "number" },
  ...{
    format: "text",
    join: "text",
    toJSON: "text",
    match: "text",
    text: "text",
    lower: "text",
    upper: "text",
  },
  ...{ base64: "text", sha256: "text", "url-encode": "text" },
};

function knownOf(node: Node, step: KnownStep | undefined, names: KnownNames): Known | undefined {
  switch (node.kind) {
    case "literal": {
      const type = typeof node.value;
      return type === "string"
        ? { type: "text" }
        : type === "number" || type === "boolean"
          ? { type }
          : undefined;
    }
    case "call": {
      const type = given[node.name];
      return type && { type };
    }
    case "not":
    case "compare":
    case "logical":
      return { type: "boolean" };
    case "member": {
      if (node.key.kind !== "literal") return undefined;
      const name = String(node.key.value);
      const type = typeOf(node, names);
      const isInput = node.of.kind === "context" && node.of.name === "inputs";
      return type === undefined
        ? knownOfField(stepOf(node.of, step, names), name)
        : { type, options: isInput ? names.options.get(name) : undefined };
    }
    default:
      return undefined;
  }
}

/** The step whose result a node is: `this`, or `steps.<id>`. */
function stepOf(node: Node, step: KnownStep | undefined, names: KnownNames): KnownStep | undefined {
  if (node.kind === "context") return node.name === "this" ? step : undefined;
  if (node.kind !== "member" || node.of.kind !== "context" || node.of.name !== "steps") return undefined;
  const { key } = node;
  return key.kind === "literal"
    ? names.steps.find(({ id, isEach }) => !isEach && id === key.value)
    : undefined;
}

function knownOfField(step: KnownStep | undefined, name: string): Known | undefined {
  // What a part calls so may be of any type.
  if (step?.type === undefined) return undefined;
  if (name === "outcome") return { type: "text", options: outcomes };
  return numbers.includes(name) ? { type: "number" } : texts.includes(name) ? { type: "text" } : undefined;
}
