import { type Edit, quoted, type Span } from "../mistakes/problem.ts";
import { largestFile } from "../parsePipeline.ts";
import { isName, type ParsedPipeline } from "../pipeline.ts";
import { type ResourceTypeName, resourceTypeNames } from "../types/resourceTypes.ts";
import {
  asYamlText,
  entriesOf,
  entryOf,
  readTree,
  spanOfEntry,
  type TextTree,
  type Tree,
  textBehind,
  touches,
} from "./tree.ts";

/** The resources and steps of a pipeline file with their positions, also of an invalid file. */
export interface Outline {
  readonly tree: Tree | undefined;
  readonly name: TextTree | undefined;
  readonly timeLimit: TextTree | undefined;
  /** In the order of the file; of duplicates both. */
  readonly resources: readonly OutlinedResource[];
  readonly steps: readonly OutlinedStep[];
}

interface OutlinedResource {
  readonly name: TextTree;
  /** Undefined where it is missing or unknown. */
  readonly type: ResourceTypeName | undefined;
  /** With its name. */
  readonly span: Span;
}

interface OutlinedStep {
  readonly span: Span;
  readonly tree: Tree;
  /** Its name, or its action as written; for people. */
  readonly label: string;
  readonly name: TextTree | undefined;
  readonly use: TextTree | undefined;
}

/** Never throws. The outline of a text that is too large to be parsed is empty. */
export function outlineOf(text: string): Outline {
  const tree = text.length > largestFile ? undefined : readTree(text);
  return outlineOfTree(tree);
}

export function outlineOfTree(tree: Tree | undefined): Outline {
  const steps = entryOf(tree, "steps")?.value;
  return {
    tree,
    name: textBehind(tree, "name"),
    timeLimit: textBehind(tree, "time-limit"),
    resources: entriesOf(entryOf(tree, "resources")?.value).map((entry) => ({
      name: entry.name,
      type: typeNamed(textBehind(entry.value, "type")?.text),
      span: spanOfEntry(entry),
    })),
    steps:
      steps?.kind === "list" ? steps.items.flatMap((item) => (item === undefined ? [] : [step(item)])) : [],
  };
}

/** The type of the resource that a step uses; undefined where it isn't known. */
export function typeOfUse(outline: Outline, use: string | undefined): ResourceTypeName | undefined {
  return outline.resources.find(({ name }) => name.text === use)?.type;
}

function step(tree: Tree): OutlinedStep {
  const name = textBehind(tree, "name");
  return {
    span: { start: tree.start, end: tree.end },
    tree,
    label: quoted(name?.text ?? actionOf(tree)),
    name,
    use: textBehind(tree, "use"),
  };
}

/** The label of a step without a name: its action as written. */
function actionOf(tree: Tree): string {
  const entry = entriesOf(tree).find(({ name }) => !["use", "name", "timeout"].includes(name.text));
  if (entry === undefined) return "…";
  const { name, value } = entry;
  return value?.kind === "text" ? `${name.text} ${value.text.trim()}` : name.text;
}

function typeNamed(text: string | undefined): ResourceTypeName | undefined {
  return resourceTypeNames.find((name) => name === text);
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
  return outline.steps[at];
}

/** All places where a resource is named: its definitions and its uses. */
export interface NamedResource {
  readonly name: string;
  readonly definitions: readonly TextTree[];
  readonly uses: readonly TextTree[];
  /** The one at the offset. */
  readonly asked: TextTree;
}

/** The resource that is named at an offset; undefined where none is. */
export function resourceAt(outline: Outline, offset: number): NamedResource | undefined {
  const definitions = outline.resources.map(({ name }) => name);
  const uses = outline.steps.flatMap(({ use }) => use ?? []);
  const asked = [...definitions, ...uses].find((text) => touches(text, offset));
  if (asked === undefined) return undefined;
  const isIt = ({ text }: TextTree) => text === asked.text;
  return { name: asked.text, definitions: definitions.filter(isIt), uses: uses.filter(isIt), asked };
}

/** The problem of a new name, in a sentence; undefined for a valid one. */
export function problemOfNewName(outline: Outline, old: string, name: string): string | undefined {
  if (!isName(name)) {
    return "A resource's name begins with a letter or digit and goes on with letters, digits, “.”, “_” and “-”.";
  }
  const isTaken = name !== old && outline.resources.some((resource) => resource.name.text === name);
  return isTaken ? `This file has a resource “${name}” already.` : undefined;
}

/** Renames a resource in all places. */
export function renameResource({ definitions, uses }: NamedResource, name: string): readonly Edit[] {
  return [...definitions, ...uses].map((text) => ({
    span: { start: text.start, end: text.end },
    text: asYamlText(name),
  }));
}
