import { type ContextName, contexts, isContextName } from "../expression/names.ts";
import { splitText } from "../file/textPieces.ts";
import {
  eachFields,
  everyResultField,
  ownResultFields,
  resultFields,
  runFields,
} from "../types/resultFields.ts";
import type { Outline, OutlinedInput, OutlinedStep } from "./outline.ts";
import { entriesOf, entryOf } from "./tree.ts";

/** A name that an expression can read, with its documentation for hover and completion. */
export interface MemberText {
  readonly name: string;
  /** A few words. */
  readonly detail?: string;
  /** Markdown. */
  readonly meaning: string;
  /** Whether usually one of its own members is read. */
  readonly goesOn?: boolean;
}

/** The file and the step that an expression is in. */
export interface Surroundings {
  readonly text: string;
  readonly outline: Outline;
  readonly step: OutlinedStep | undefined;
}

/** The names below a path, such as `steps`, `order`; none where only a run knows them. */
export function membersOf(path: readonly (string | number)[], at: Surroundings): readonly MemberText[] {
  const [context, second, third] = path;
  if (context === undefined || !isContextName(String(context))) return [];
  if (context === "steps") {
    const steps = stepsBefore(at);
    if (second === undefined) return steps.flatMap(idText);
    const step = steps.find(({ id }) => id?.text === second);
    const isItem = path.length === 3 && (typeof third === "number" || third === "*");
    const isResult = step?.isEach === true ? isItem : path.length === 2;
    return step !== undefined && isResult ? fieldsOf(step, at.outline) : [];
  }
  if (second !== undefined) return [];
  switch (context) {
    case "env":
      return [...variablesOf(at.text)].sort().map((name) => ({ name, meaning: variableText(name) }));
    case "inputs":
      return at.outline.inputs.map(inputText);
    case "run":
      return Object.entries(runFields).map(([name, meaning]) => ({ name, meaning }));
    case "each":
      return Object.entries(eachFields).map(([name, meaning]) => ({ name, meaning }));
    case "this":
      return at.step === undefined ? [] : fieldsOf(at.step, at.outline, ownResultFields);
    default:
      return [];
  }
}

export function contextText(name: ContextName): MemberText {
  const { meaning, where } = contexts[name];
  return { name, meaning: where === undefined ? meaning : `${meaning} It is there ${where}.`, goesOn: true };
}

/** The steps whose results the expression can read. Those of `finally` run after the outputs are taken. */
function stepsBefore({ outline: { steps }, step }: Surroundings): readonly OutlinedStep[] {
  const at = steps.findIndex(({ list, index }) => list === step?.list && index === step.index);
  return at === -1 ? steps.filter(({ list }) => list === "steps") : steps.slice(0, at);
}

function idText({ id, label, type, include, isEach }: OutlinedStep): MemberText[] {
  if (id === undefined) return [];
  const what = include !== undefined ? "part" : type === undefined ? "step" : `step of type \`${type}\``;
  const list = isEach ? " It has `each`, so this is the list of its results." : "";
  return [
    {
      name: id.text,
      detail: label,
      meaning: `The result of a ${what}: ${codeOf(label)}.${list}`,
      goesOn: true,
    },
  ];
}

export function fieldsOf(
  { type, include, tree }: OutlinedStep,
  outline: Outline,
  every: Readonly<Record<string, string>> = everyResultField,
): readonly MemberText[] {
  const outputs = include === undefined ? undefined : outline.part(include.text)?.outputs;
  return [
    ...(outputs ?? []).map(({ text }) => ({
      name: text,
      meaning: "What the part gives as this of its `outputs`.",
    })),
    ...entriesOf(entryOf(tree, "read")?.value).map(({ name }) => ({
      name: name.text,
      detail: "read",
      meaning: "What the step reads of the page by this name.",
    })),
    ...Object.entries({ ...(type && resultFields[type]), ...every }).map(([name, meaning]) => ({
      name,
      ...(type !== undefined && { detail: type }),
      meaning,
    })),
  ];
}

/** The documentation of an input of this file, or of a part. */
export function inputText(input: OutlinedInput): MemberText {
  const { name, type, default: byDefault, options, description } = input;
  const parts = [
    ...(description === undefined ? [] : [asMarkdown(description.replace(/[^.!?]$/, "$&."))]),
    `An input: ${type === "boolean" ? "true or false" : `a ${type}`}.`,
    byDefault === undefined ? "Each run has to give it." : `Default: ${codeOf(byDefault)}.`,
    ...(options.length === 0 ? [] : [`Allowed: ${options.map(codeOf).join(", ")}.`]),
  ];
  return { name: name.text, detail: type, meaning: parts.join(" ") };
}

export function variableText(name: string): string {
  return `The variable \`${name}\` of the file's \`env-file\`, or of the environment in which the run is started. Its value shows as \`***\` in everything that the run tells, unless \`unmasked\` names it.`;
}

function variablesOf(text: string): ReadonlySet<string> {
  const names = text.split("\n").flatMap((line) => {
    const split = splitText(line);
    if (split.kind === "valid")
      return split.pieces.flatMap((piece) => (piece.kind === "variable" ? [piece.name] : []));
    return [...line.matchAll(/\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name = ""]) => name);
  });
  return new Set(names);
}

/** A text of the file, escaped so that no picture in it is fetched and no link leads elsewhere than it says. */
function asMarkdown(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_{}[\]()<>#+\-!~|]/g, "\\$&");
}

function codeOf(text: string): string {
  return `\`${text.replaceAll("`", "'").replace(/\s+/g, " ").slice(0, 80)}\``;
}
