import { functions, isFunctionName, signatureOf } from "../expression/names.ts";
import { describeField } from "../file/fieldTexts.ts";
import type { Span } from "../mistakes/problem.ts";
import { findResourceType, resourceTypes } from "../types/resourceTypes.ts";
import { expressionsOf } from "./expressionAt.ts";
import { contextText, membersOf, variableText } from "./members.ts";
import { namedAt } from "./named.ts";
import type { Outline } from "./outline.ts";
import { fieldTextAt } from "./shape.ts";
import { type Spot, spotAt, startOfLine, touches } from "./tree.ts";

export interface Hover {
  readonly span: Span;
  /** Markdown. */
  readonly meaning: string;
  /** A piece of the file, shown as code. */
  readonly code?: string;
}

const longestCode = 1_000;

/** @returns undefined where there is nothing to show. */
export function hoverAt(text: string, outline: Outline, offset: number): Hover | undefined {
  const inside = expressionHover(text, outline, offset) ?? namedHover(text, outline, offset);
  if (inside !== undefined) return inside;
  const spot = spotAt(outline.tree, offset);
  if (spot === undefined) return undefined;
  return spot.isName ? fieldHover(spot, outline) : valueHover(spot);
}

function fieldHover({ crumbs, text: { start, end } }: Spot, outline: Outline): Hover | undefined {
  const text = fieldTextAt(crumbs, outline);
  return text && { span: { start, end }, meaning: describeField(text) };
}

function valueHover({ crumbs, text: { text, start, end } }: Spot): Hover | undefined {
  const last = crumbs.at(-1);
  const type = findResourceType(text);
  const isType = last?.kind === "entry" && last.entry.name.text === "type" && crumbs.length === 3;
  return isType && type !== undefined ? { span: { start, end }, meaning: type.meaning } : undefined;
}

/** For a definition, how often it is used; for a use of a resource, its definition. */
function namedHover(text: string, outline: Outline, offset: number): Hover | undefined {
  const named = namedAt(text, outline, offset);
  if (named === undefined) return undefined;
  const { start, end } = named.asked;
  const span = { start, end };
  const count = named.uses.length;
  if (named.kind !== "resource") {
    const member = membersOf([named.kind === "id" ? "steps" : "inputs"], {
      text,
      outline,
      step: undefined,
    }).find(({ name }) => name === named.name);
    const uses =
      count === 0 ? "Nothing reads it." : count === 1 ? "It is read once." : `It is read ${count} times.`;
    return member && { span, meaning: `${member.meaning} ${uses}` };
  }
  const resource = outline.resources.find(({ name }) => name.text === named.name);
  if (resource === undefined) return undefined;
  const type = resource.type === undefined ? "" : ` ${resourceTypes[resource.type].meaning}`;
  const what = resource.type === undefined ? "without a type" : `of type \`${resource.type}\``;
  const meaning = `A resource ${what}.${type}`;
  if (!named.definitions.includes(named.asked))
    return { span, meaning, code: unindented(text, resource.span) };
  const uses =
    count === 0 ? "No step uses it." : count === 1 ? "One step uses it." : `${count} steps use it.`;
  return { span, meaning: `${meaning} ${uses}` };
}

/** The hover of a context, of a name in it, or of a function. */
function expressionHover(text: string, outline: Outline, offset: number): Hover | undefined {
  const found = expressionsOf(text, outline).find(({ span }) => touches(span, offset));
  if (found === undefined) return undefined;
  const { source, step, references, spanOf } = found;
  for (const { context, path, at, length } of references) {
    const whole = [{ name: context, at, length }, ...path];
    const index = whole.findIndex((name) => touches(spanOf(name), offset));
    const asked = whole[index];
    if (asked === undefined) continue;
    const owner = whole.slice(0, index).map(({ name }) => name);
    const known = membersOf(owner, { text, outline, step }).find(({ name }) => name === asked.name);
    const meaning =
      index === 0
        ? contextText(context).meaning
        : context === "env" && index === 1
          ? variableText(String(asked.name))
          : known?.meaning;
    return meaning === undefined ? undefined : { span: spanOf(asked), meaning };
  }
  for (const { 0: name, index: at } of source.matchAll(/[A-Za-z][\w-]*(?=\s*\()/g)) {
    const span = spanOf({ at, length: name.length });
    if (!isFunctionName(name) || !touches(span, offset)) continue;
    return { span, meaning: functions[name].meaning, code: signatureOf(name) };
  }
  return undefined;
}

function unindented(text: string, { start, end }: Span): string {
  const column = start - startOfLine(text, start);
  const piece = text.slice(start, Math.min(end, start + longestCode));
  const code = piece.replaceAll(new RegExp(`\\r?\\n {0,${column}}`, "g"), "\n");
  return code + (end - start > longestCode ? "\n…" : "");
}
