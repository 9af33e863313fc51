import { isName } from "../pipeline.ts";
import type { Outline } from "./outline.ts";
import { asYamlText } from "./plainText.ts";
import type { Span, TextTree } from "./tree.ts";
import { touches } from "./treeParts.ts";

/** Everywhere a resource is named: where it is defined, and the steps that use it. */
export interface NamedResource {
  readonly name: string;
  readonly definitions: readonly TextTree[];
  readonly uses: readonly TextTree[];
  /** The one that was asked for. */
  readonly asked: TextTree;
}

/** An exchange of one piece of the text for another. */
export interface Edit {
  readonly span: Span;
  readonly text: string;
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

/** What is wrong with a new name, as one sentence; undefined for one that can be given. */
export function problemOfNewName(outline: Outline, old: string, name: string): string | undefined {
  if (!isName(name)) {
    return "A resource's name begins with a letter or digit and goes on with letters, digits, “.”, “_” and “-”.";
  }
  const isTaken = name !== old && outline.resources.some((resource) => resource.name.text === name);
  return isTaken ? `This file has a resource “${name}” already.` : undefined;
}

/** Gives a resource another name wherever it is named. */
export function renameResource({ definitions, uses }: NamedResource, name: string): readonly Edit[] {
  return [...definitions, ...uses].map((text) => ({
    span: { start: text.start, end: text.end },
    text: asYamlText(name),
  }));
}
