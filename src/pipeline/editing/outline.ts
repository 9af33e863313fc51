import { largestFile } from "../parsePipeline.ts";
import { type ResourceTypeName, resourceTypeNames } from "../pipeline.ts";
import { quoted } from "../quoted.ts";
import { readTree, type Span, type TextTree, type Tree } from "./tree.ts";
import { entriesOf, entryOf, spanOfEntry, textBehind } from "./treeParts.ts";

/** Where the things of a pipeline file stand, also of one that is broken. */
export interface Outline {
  readonly tree: Tree | undefined;
  readonly name: TextTree | undefined;
  readonly timeLimit: TextTree | undefined;
  /** In the order of the file; of two of one name both. */
  readonly resources: readonly OutlinedResource[];
  readonly steps: readonly OutlinedStep[];
}

interface OutlinedResource {
  readonly name: TextTree;
  /** Undefined where it is none of the four, or not said. */
  readonly type: ResourceTypeName | undefined;
  /** With its name. */
  readonly span: Span;
}

interface OutlinedStep {
  readonly span: Span;
  readonly tree: Tree;
  /** Its name, or what it does, as it is written; for a person to know it by. */
  readonly label: string;
  readonly name: TextTree | undefined;
  readonly use: TextTree | undefined;
}

/** Never throws. Of a text that is too large to be parsed nothing is told. */
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

/** The type of the resource that a step uses; undefined where the file doesn't say. */
export function typeOfUse(outline: Outline, use: string | undefined): ResourceTypeName | undefined {
  return outline.resources.find(({ name }) => name.text === use)?.type;
}

function step(tree: Tree): OutlinedStep {
  const name = textBehind(tree, "name");
  return {
    span: { start: tree.start, end: tree.end },
    tree,
    label: quoted(name?.text ?? doing(tree)),
    name,
    use: textBehind(tree, "use"),
  };
}

/** What stands for the name of a step without one: its action, as it is written. */
function doing(tree: Tree): string {
  const entry = entriesOf(tree).find(({ name }) => !["use", "name", "timeout"].includes(name.text));
  if (entry === undefined) return "…";
  const { name, value } = entry;
  return value?.kind === "text" ? `${name.text} ${value.text.trim()}` : name.text;
}

function typeNamed(text: string | undefined): ResourceTypeName | undefined {
  return resourceTypeNames.find((name) => name === text);
}
