import { describeField } from "../words/fieldText.ts";
import type { Caret } from "./caret.ts";
import type { Field, Shape } from "./shape.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";

interface FieldPlace {
  /** The names that stand in the map already. */
  readonly others: ReadonlySet<string>;
  /** Of the name's first letter. */
  readonly column: number;
  readonly isFlow: boolean;
  /** What has to be written around a name to begin the map: nothing, a list's dash, or a flow map's brackets. */
  readonly wrap: "" | "- " | "{}";
}

/** Of these a map has one. */
const alternatives: readonly (readonly string[])[] = [
  ["get", "post", "put", "patch", "delete", "head"],
  ["body", "json"],
  ["query", "statements"],
  ["role", "label", "placeholder", "test-id", "css"],
];

/** These don't stand beside each other. */
const strangers: readonly (readonly [string, string])[] = [
  ...["get", "head"].flatMap((method) => [[method, "body"] as const, [method, "json"] as const]),
  ["statements", "params"],
  ["label", "text"],
  ["placeholder", "text"],
];

/** The names that can still be written into a map. */
export function suggestFields(caret: Caret, shape: Shape, place: FieldPlace): readonly Suggestion[] {
  const { others } = place;
  if (shape.isOneField && others.size > 0) return [];
  const isTarget = shape.fields.has("css");
  return [...shape.fields.values()]
    .filter(({ name }) => !others.has(name) && !isShutOut(name, shape, others))
    .filter(({ name }) => !isTarget || name !== "name" || others.has("role"))
    .sort((one, other) => Number(one.name.startsWith("$")) - Number(other.name.startsWith("$")))
    .map((field) => suggestField(caret, field, place));
}

function isShutOut(name: string, { fields }: Shape, others: ReadonlySet<string>): boolean {
  const isThere = (other: string) => fields.has(other) && others.has(other);
  const isOneOf = (names: readonly string[]) => names.every((other) => fields.has(other));
  return (
    alternatives.some((names) => names.includes(name) && isOneOf(names) && names.some(isThere)) ||
    strangers.some(([one, other]) => (name === one && isThere(other)) || (name === other && isThere(one)))
  );
}

function suggestField(caret: Caret, field: Field, place: FieldPlace): Suggestion {
  const { name, text, isRequired } = field;
  const { wrap } = place;
  const hasColon = /^\s*:(?:\s|$)/.test(caret.rest);
  const behind = hasColon ? "" : `:${valueSnippet(field, place)}`;
  const written = escapeSnippet(name) + behind;
  return {
    kind: "field",
    label: name,
    detail: isRequired ? "needed" : undefined,
    documentation: text === undefined ? undefined : describeField(text),
    snippet: wrap === "{}" ? `{ ${written} }` : wrap + written,
    replaces: caret.word,
    typedAs: undefined,
    goesOn: !hasColon,
  };
}

/** What stands behind a name's colon, so that one goes on where its value begins. */
function valueSnippet({ shape }: Field, { column, isFlow }: FieldPlace): string {
  if (shape.isText || shape.words.length > 0) return " $0";
  const inner = `\n${" ".repeat(column + 2)}`;
  if (shape.fields.size > 0 || shape.named !== undefined) return isFlow ? " { $0 }" : `${inner}$0`;
  if (shape.item !== undefined) return isFlow || !holdsMaps(shape.item) ? " [$0]" : `${inner}- $0`;
  return " $0";
}

function holdsMaps(shape: Shape): boolean {
  return shape.fields.size > 0 || shape.named !== undefined || (!shape.isText && shape.item === undefined);
}
