import { everyStep } from "../file/values.ts";
import { problemOfSize } from "../file/yamlSource.ts";
import { scriptItems } from "../knownNames.ts";
import { quoted, type Span } from "../mistakes/problem.ts";
import type { ReadPart } from "../partFiles.ts";
import { type Input, inputTypes, type ParsedPipeline, type Pipeline } from "../pipeline.ts";
import { findResourceType } from "../types/resourceTypes.ts";
import type { ResourceTypeName } from "../types/resultFields.ts";
import {
  type Entry,
  entriesOf,
  entryOf,
  readTree,
  spanOfEntry,
  type TextTree,
  type Tree,
  textValueOf,
} from "./tree.ts";

/** What a pipeline file names, with the positions; the file may be invalid. */
export interface Outline {
  readonly tree: Tree | undefined;
  readonly name: TextTree | undefined;
  readonly inputs: readonly OutlinedInput[];
  /** In the order of the file, duplicates included. */
  readonly resources: readonly OutlinedResource[];
  /** In the order in which they run: those of `finally` are the last. */
  readonly steps: readonly OutlinedStep[];
  readonly outputs: readonly TextTree[];
  /** The outline of a part by its path; undefined where it can't be read. */
  readonly part: (path: string) => Outline | undefined;
}

export interface OutlinedInput {
  readonly name: TextTree;
  readonly type: Input["type"];
  /** Undefined where a run has to give its value. */
  readonly default: string | undefined;
  readonly options: readonly string[];
  readonly description: string | undefined;
}

interface OutlinedResource {
  readonly name: TextTree;
  /** Undefined where it is missing or unknown. */
  readonly type: ResourceTypeName | undefined;
  /** The range of the whole entry, its name included. */
  readonly span: Span;
}

export interface OutlinedStep {
  readonly list: (typeof stepLists)[number];
  readonly index: number;
  readonly span: Span;
  readonly tree: Tree;
  /** Its name, or its action as written; for people. */
  readonly label: string;
  readonly id: TextTree | undefined;
  readonly name: TextTree | undefined;
  readonly use: TextTree | undefined;
  /** The type of the resource that it uses; undefined where it isn't known. */
  readonly type: ResourceTypeName | undefined;
  readonly isEach: boolean;
  /** The items of its `run` that are scripts for a shell. */
  readonly scripts: ReadonlySet<number>;
  /** The path of the part that it is. */
  readonly include: TextTree | undefined;
}

export const stepLists = ["steps", "finally"] as const;

/** Never throws. The outline of a text that is too large to be parsed is empty. */
export function outlineOf(text: string, readPart?: ReadPart): Outline {
  const tree = problemOfSize(text) !== undefined ? undefined : readTree(text);
  return outlineOfTree(tree, readPart);
}

export function outlineOfTree(tree: Tree | undefined, readPart?: ReadPart): Outline {
  const resources = entriesOf(entryOf(tree, "resources")?.value).map((entry) => ({
    name: entry.name,
    type: findResourceType(textValueOf(entry.value, "type")?.text)?.type,
    span: spanOfEntry(entry),
  }));
  const steps = stepLists.flatMap((list) => {
    const items = entryOf(tree, list)?.value;
    if (items?.kind !== "list") return [];
    return items.items.flatMap((item, index) =>
      item === undefined ? [] : [{ list, index, ...step(item, resources) }],
    );
  });
  return {
    tree,
    name: textValueOf(tree, "name"),
    inputs: entriesOf(entryOf(tree, "inputs")?.value).map(input),
    resources,
    steps,
    outputs: entriesOf(entryOf(tree, "outputs")?.value).map(({ name }) => name),
    part: (path) => {
      const read = readPart?.(path);
      return read?.kind === "read" ? outlineOf(read.text, readPart) : undefined;
    },
  };
}

function input({ name, value }: Entry): OutlinedInput {
  const plain = value?.kind === "text" ? value : textValueOf(value, "default");
  const list = entryOf(value, "options")?.value;
  const options =
    list?.kind === "list" ? list.items.flatMap((item) => (item?.kind === "text" ? [item] : [])) : [];
  const written = textValueOf(value, "type")?.text;
  return {
    name,
    type: inputTypes.find((type) => type === written) ?? typeOf(options[0] ?? plain),
    default: plain?.text,
    options: options.map(({ text }) => text),
    description: textValueOf(value, "description")?.text,
  };
}

function typeOf(value: TextTree | undefined): Input["type"] {
  if (value === undefined || value.isText) return "text";
  return /^(?:true|false)$/i.test(value.text) ? "boolean" : "number";
}

function step(tree: Tree, resources: Outline["resources"]): Omit<OutlinedStep, "list" | "index"> {
  const name = textValueOf(tree, "name");
  const use = textValueOf(tree, "use");
  const run = entryOf(tree, "run")?.value;
  const words = run?.kind === "list" ? run.items.map((item) => (item?.kind === "text" ? item.text : "")) : [];
  return {
    span: { start: tree.start, end: tree.end },
    tree,
    label: quoted(name?.text ?? actionOf(tree)),
    id: textValueOf(tree, "id"),
    name,
    use,
    type: resources.find((resource) => resource.name.text === use?.text)?.type,
    isEach: entryOf(tree, "each") !== undefined,
    scripts: scriptItems(words),
    include: textValueOf(tree, "include"),
  };
}

/** The label of a step without a name: its action as written. */
function actionOf(tree: Tree): string {
  const entry = entriesOf(tree).find(
    ({ name }) => name.text !== "timeout" && !Object.hasOwn(everyStep, name.text),
  );
  if (entry === undefined) return "…";
  const { name, value } = entry;
  return value?.kind === "text" ? `${name.text} ${value.text.trim()}` : name.text;
}

/**
 * Finds a run's step in the file: the one with this name at the same index, or else the first with this name.
 * @returns undefined when the file no longer has a step of this name.
 */
export function findStep(
  outline: Outline,
  parsed: ParsedPipeline,
  step: { readonly name: string; readonly index: number },
): Outline["steps"][number] | undefined {
  const names =
    parsed.kind === "valid"
      ? parsed.pipeline.steps.map(({ name }) => name)
      : outline.steps.map(({ name, label }) => name?.text ?? label);
  const at = names[step.index] === step.name ? step.index : names.indexOf(step.name);
  return parsed.kind === "valid" ? ownStep(outline, parsed.pipeline, at) : outline.steps[at];
}

/** The step of the file itself that a planned step is, or that includes it. */
function ownStep(
  { steps }: Outline,
  { steps: planned, parts = [] }: Pipeline,
  at: number,
): OutlinedStep | undefined {
  let part = planned[at]?.part;
  if (part === undefined) {
    const before = planned.slice(0, at).filter((step) => step.part === undefined).length;
    return at === -1 ? undefined : steps.filter(({ include }) => include === undefined)[before];
  }
  for (let parent = parts[part]?.parent; parent !== undefined; parent = parts[part]?.parent) part = parent;
  const before = parts.slice(0, part).filter(({ parent }) => parent === undefined).length;
  return steps.filter(({ include }) => include !== undefined)[before];
}
