import { type Expression, type Node, type Reference, references } from "./expression/expression.ts";
import { kindOf } from "./expression/value.ts";
import type { KnownNames, KnownStep } from "./knownNames.ts";
import { foreignMember } from "./mistakes/foreignWords.ts";
import { quoted, suggestion } from "./mistakes/problem.ts";
import type { Input } from "./pipeline.ts";
import {
  eachFields,
  everyResultField,
  ownResultFields,
  resultFields,
  runFields,
} from "./types/resultFields.ts";

export interface Found {
  readonly at: number;
  readonly problem: string;
}

export const described = { text: "a text", number: "a number", boolean: "true or false" } as const;

/** The references to what doesn't exist. @param from the expression's offset in its text. @param step its step. */
export function inReferences(
  expression: Expression,
  from: number,
  step: KnownStep | undefined,
  names: KnownNames,
): readonly Found[] {
  return references(expression).flatMap((reference) => {
    const found = problemOf(reference, step, names);
    return found === undefined ? [] : [{ ...found, at: from + found.at }];
  });
}

function problemOf(
  { context, path, at, goesOn }: Reference,
  step: KnownStep | undefined,
  names: KnownNames,
): Found | undefined {
  const [first, ...rest] = path;
  const asked = first === undefined ? undefined : String(first.name);
  const told = (problem: string): Found => ({ at: first?.at ?? at, problem });
  const unknown = (what: string, known: readonly string[], none: string) =>
    told(
      `${what}${suggestion(asked ?? "", known) || (known.length === 0 ? none : `; there is ${known.map((name) => `\`${name}\``).join(", ")}`)}`,
    );
  switch (context) {
    case "env":
      return first === undefined && goesOn
        ? told("a variable is named in the file, such as `env.SHOP_TOKEN`, so that its value can be masked")
        : undefined;
    case "inputs": {
      const known = [...names.inputs.keys()];
      if (asked === undefined || known.includes(asked)) return undefined;
      return unknown(`there is no input \`${quoted(asked)}\``, known, "; the file has no `inputs`");
    }
    case "run":
      if (asked === undefined || Object.hasOwn(runFields, asked)) return undefined;
      return unknown(`a run has no \`${quoted(asked)}\``, Object.keys(runFields), "");
    case "each":
      if (asked === undefined || Object.hasOwn(eachFields, asked)) return undefined;
      return unknown(`\`each\` has no \`${quoted(asked)}\``, Object.keys(eachFields), "");
    case "this":
      return step === undefined ? undefined : problemOfField(step, path, "this", ownResultFields);
    case "steps": {
      if (asked === undefined) return undefined;
      const known = names.steps.filter(({ id }) => id !== undefined);
      const found = known.find(({ id }) => id === asked);
      if (found === undefined) {
        const ids = [...new Set(known.flatMap(({ id }) => id ?? []))];
        return unknown(`no step has the id \`${quoted(asked)}\``, ids, "; no step has an `id`");
      }
      if (step === found)
        return told(`\`${asked}\` is this step, whose result is \`this\` in \`expect.that\``);
      if (step !== undefined && found.order > step.order)
        return told(`the step \`${asked}\` comes later, so it has no result yet`);
      if (step === undefined && found.list === "finally")
        return told(`\`outputs\` are taken before \`finally\`, so the step \`${asked}\` has no result yet`);
      return problemOfResult(found, rest, `steps.${asked}`);
    }
    default:
      return context satisfies never;
  }
}

type Names = Reference["path"];

function problemOfResult(step: KnownStep, path: Names, shown: string): Found | undefined {
  if (!step.isEach) return problemOfField(step, path, shown);
  const [first, ...rest] = path;
  if (first === undefined) return undefined;
  if (typeof first.name === "number") return problemOfField(step, rest, `${shown}[${first.name}]`);
  return {
    at: first.at,
    problem: `this step has \`each\`, so \`${shown}\` is a list: \`${shown}[0].${first.name}\`, or \`${shown}.*.${first.name}\` for all`,
  };
}

function problemOfField(
  { type, outputs, read }: KnownStep,
  [field, member]: Names,
  shown: string,
  every: Readonly<Record<string, string>> = everyResultField,
): Found | undefined {
  if (field === undefined) return undefined;
  const name = String(field.name);
  const own = type === undefined ? outputs : Object.keys(resultFields[type]);
  // A part that can't be read, or a resource that isn't known.
  if (own === undefined) return undefined;
  const known = [...own, ...read, ...Object.keys(every)];
  if (!known.includes(name)) {
    const foreign = foreignMember(name, known);
    const near = foreign === undefined ? suggestion(name, known) : `; did you mean \`${foreign}\`?`;
    if (type === undefined && name === "outputs" && member !== undefined)
      return {
        at: field.at,
        problem: `\`${shown}\` has the part's \`outputs\` itself: \`${shown}.${quoted(String(member.name))}\``,
      };
    return {
      at: field.at,
      problem: `\`${shown}\` has no \`${quoted(name)}\`${near || `; it has ${known.map((one) => `\`${one}\``).join(", ")}`}`,
    };
  }
  if (type !== "http" || name !== "headers" || member === undefined) return undefined;
  const header = String(member.name);
  return header === header.toLowerCase()
    ? undefined
    : { at: member.at, problem: `the names of headers are in lower case: \`${header.toLowerCase()}\`` };
}

/** The parts of a condition that are certainly neither true nor false. */
export function inCondition(node: Node, text: string, names: KnownNames): readonly Found[] {
  if (node.kind === "not") return inCondition(node.operand, text, names);
  if (node.kind === "logical") return node.operands.flatMap((operand) => inCondition(operand, text, names));
  const name = quoted(text.slice(node.at, node.at + node.length));
  if (node.kind === "literal" && typeof node.value !== "boolean") {
    const problem = `\`&&\`, \`||\` and conditions take true and false only, and \`${name}\` is ${kindOf(node.value)}; two steps, each with its \`if\`, choose between values`;
    return [{ at: node.at, problem }];
  }
  const type = typeOf(node, names);
  if (type === undefined || type === "boolean") return [];
  const example = type === "text" ? `${name} == '…'` : `${name} > 0`;
  return [
    {
      at: node.at,
      problem: `a condition is true or false, and \`${name}\` is ${described[type]}: compare it, such as \`${example}\``,
    },
  ];
}

/** The type of a node that is only an input or a variable; undefined where only a run knows it. */
export function typeOf(node: Node, names: KnownNames): Input["type"] | undefined {
  if (node.kind !== "member" || node.of.kind !== "context" || node.key.kind !== "literal") return undefined;
  return node.of.name === "env" || node.of.name === "run"
    ? "text"
    : node.of.name === "inputs"
      ? names.inputs.get(String(node.key.value))
      : undefined;
}

/** The `'x'` of `a && 'x' || 'y'`, which is wrong whatever `a` is; an unfit operand of another `&&` or `||` may never count. */
export function chosenValue(root: Node): Node | undefined {
  if (root.kind !== "logical" || root.operator !== "||") return undefined;
  const [first, otherwise] = root.operands;
  const chosen = first?.kind === "logical" ? first.operands.at(-1) : undefined;
  return chosen?.kind === "literal" && otherwise?.kind === "literal" ? chosen : undefined;
}
