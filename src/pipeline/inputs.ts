import { PipelineError } from "../contract/errors.ts";
import type { DeclaredInput, InputValue, InputValues } from "../contract/pipelines.ts";
import { hasExpression } from "./file/textPieces.ts";
import { quoted, suggestion } from "./mistakes/problem.ts";
import type { Input } from "./pipeline.ts";

export type ReadInputs =
  | { readonly kind: "valid"; readonly values: InputValues }
  | {
      readonly kind: "invalid";
      /** A clause for each value that doesn't fit. */
      readonly problems: readonly string[];
      /** The required inputs that aren't given. */
      readonly missing: readonly DeclaredInput[];
    };

/**
 * Reads what a start gives for the inputs of a pipeline, and fills in defaults. A text is read as a number, `true` or `false`
 * where the input is one. A default with an expression is left out: only the run knows its value.
 */
export function readInputs(declared: readonly DeclaredInput[], given: InputValues): ReadInputs {
  const values: [string, InputValue][] = [];
  const missing: DeclaredInput[] = [];
  const problems = Object.keys(given)
    .filter((name) => !declared.some((input) => input.name === name))
    .map((name) => unknownInput(name, declared));
  for (const input of declared) {
    const { name, default: byDefault } = input;
    const text = Object.hasOwn(given, name) ? given[name] : undefined;
    if (text !== undefined) {
      const read = readInput(input, text);
      if (read.kind === "valid") values.push([name, read.value]);
      else problems.push(read.problem);
    } else if (byDefault !== undefined) values.push([name, byDefault]);
    else if (input.required) missing.push(input);
  }
  return problems.length > 0 || missing.length > 0
    ? { kind: "invalid", problems, missing }
    : { kind: "valid", values: Object.fromEntries(values) };
}

function unknownInput(name: string, declared: readonly DeclaredInput[]): string {
  const names = declared.map((input) => input.name);
  const near = suggestion(name, names);
  const there = names.length === 0 ? ": it takes none" : `; there are: ${names.map(code).join(", ")}`;
  return `there is no input ${code(name)}${near || there}`;
}

/** One given value as its type, or what is wrong with it as a clause. */
export function readInput(
  { name, type, options }: DeclaredInput,
  given: InputValue,
):
  | { readonly kind: "valid"; readonly value: InputValue }
  | { readonly kind: "invalid"; readonly problem: string } {
  const value = typeof given === "string" ? fromText(type, given) : given;
  if (value === undefined || typeof value !== typesOfValues[type]) {
    const how =
      type === "number" && /^-?(?:0x|\d+$)/i.test(String(given))
        ? ": decimal, and within ±2^53 if whole"
        : "";
    return { kind: "invalid", problem: `${code(name)} should be ${wordOf(type)}, not ${code(given)}${how}` };
  }
  if (options?.includes(value) === false) {
    const list = options.map(code).join(", ");
    return { kind: "invalid", problem: `${code(name)} should be one of ${list}, not ${code(given)}` };
  }
  return { kind: "valid", value };
}

const typesOfValues: Readonly<Record<string, string>> = {
  text: "string",
  number: "number",
  boolean: "boolean",
};

function fromText(type: string, text: string): InputValue | undefined {
  if (type === "boolean") return text === "true" || text === "false" ? text === "true" : undefined;
  if (type !== "number") return text;
  const number = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  // A whole number that would become another one is refused.
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number);
  return Number.isFinite(number) && isExact ? number : undefined;
}

function wordOf(type: string): string {
  if (type === "boolean") return "`true` or `false`";
  return type === "number" ? "a number" : "a text";
}

function code(value: InputValue): string {
  return `\`${quoted(String(value))}\``;
}

/**
 * The inputs of a run of a pipeline, complete except for those that the run evaluates.
 * @throws PipelineError `invalid-request` naming each that is missing, with its type, options and description, and each that
 *   doesn't fit.
 */
export function requireInputs(
  { name, inputs = [] }: { readonly name: string; readonly inputs?: readonly DeclaredInput[] },
  given: InputValues,
): InputValues {
  const read = readInputs(inputs, given);
  if (read.kind === "valid") return read.values;
  const missing = read.missing.map((input) => `${code(input.name)} is missing: ${inputMeaning(input)}`);
  const lines = [...missing, ...read.problems];
  const [example] = read.missing;
  const word = example === undefined ? "" : `, such as \`--input ${example.name}=${exampleOf(example)}\``;
  throw new PipelineError(
    "invalid-request",
    `\`${name}\` can't run with these inputs:\n${lines.join("\n")}`,
    {
      next: `Give each by \`--input <name>=<value>\`${word}; over HTTP, in \`inputs\`.`,
    },
  );
}

/** What an input can be and what it is for: `eu or us. Whose prices are used`. */
export function inputMeaning({ type, options, description }: DeclaredInput): string {
  const kind =
    options === undefined
      ? wordOf(type).replaceAll("`", "")
      : or.format(options.map((option) => quoted(String(option))));
  return description === undefined ? kind : `${kind}. ${description}`;
}

const or = new Intl.ListFormat("en", { type: "disjunction" });

function exampleOf({ type, options: [first] = [] }: DeclaredInput): InputValue {
  return first ?? (type === "number" ? 1 : type === "boolean" ? true : "…");
}

/** What a pipeline's file declares, as it is shown to whoever starts it. */
export function declaredInputs({
  inputs = [],
}: {
  readonly inputs?: readonly Input[] | undefined;
}): DeclaredInput[] {
  return inputs.map(({ name, type, options, default: byDefault, description }) => ({
    name,
    type,
    ...(options && { options: [...options] }),
    ...(byDefault === undefined || isOpen(byDefault) ? {} : { default: byDefault }),
    ...(description === undefined ? {} : { description }),
    required: byDefault === undefined,
  }));
}

/** Whether only a run knows the value. */
export function isOpen(value: InputValue | undefined): boolean {
  return typeof value === "string" && hasExpression(value);
}
