import { describeField } from "../file/fieldTexts.ts";
import { everyStep } from "../file/values.ts";
import type { ReadPart } from "../partFiles.ts";
import { actionNames } from "../types/browserFile.ts";
import { bodyFields, httpMethods } from "../types/httpFile.ts";
import { type Caret, caretAt } from "./caret.ts";
import { type Field, isStepList, type Shape, shapeAt } from "./shape.ts";
import { suggestExpressions } from "./suggestExpressions.ts";
import {
  escapeSnippet,
  type Suggestion,
  suggestFiles,
  suggestResources,
  suggestSteps,
  suggestValues,
} from "./suggestion.ts";
import type { Crumb } from "./tree.ts";

/** What the editor knows of the project in which a file is. */
export interface ProjectAround {
  readonly readPart?: ReadPart;
  /** Whether there is a file at a path in the project's folder. */
  readonly isThere?: (path: string) => boolean;
  /** The pipeline files that can be included, by their paths in the project's folder. */
  readonly files?: () => readonly string[];
}

/** The suggestions at an offset of a pipeline file, valid or not. Never throws. */
export function suggest(text: string, offset: number, project: ProjectAround = {}): readonly Suggestion[] {
  const caret = caretAt(text, offset, project.readPart);
  if (caret === undefined) return [];
  return suggestExpressions(text, offset, caret) ?? suggestAt(caret, project);
}

function suggestAt(caret: Caret, project: ProjectAround): readonly Suggestion[] {
  const { spot, outline } = caret;
  switch (spot.kind) {
    case "name": {
      const { crumbs, others, column, isFlow } = spot;
      const holder = crumbs.slice(0, -1);
      if (isResources(holder)) return suggestResources(caret);
      const fields = suggestFields(caret, shapeAt(holder, outline), { others, column, isFlow, wrap: "" });
      return crumbs.length === 1 && others.size === 0 ? [...fields, ...suggestFiles(caret)] : fields;
    }
    case "value": {
      const shape = shapeAt(spot.crumbs, outline);
      // Nothing is suggested inside a text of several lines.
      if (caret.isBegunAbove || spot.style === "block") return [];
      const values = suggestValues(caret, spot, shape, project.files?.() ?? []);
      return spot.style === "quoted" ? values : [...values, ...suggestInside(caret, spot, shape)];
    }
    case "dash": {
      const item = shapeAt(spot.crumbs, outline).item;
      return item === undefined ? [] : suggestItem(caret, spot.crumbs, item, spot.column, "- ");
    }
    case "nowhere":
      return [];
  }
}

/** The beginnings of a map or a list where a value is still empty. */
function suggestInside(
  caret: Caret,
  spot: Extract<Caret["spot"], { kind: "value" }>,
  shape: Shape,
): readonly Suggestion[] {
  const { crumbs, column, isFlow, isFresh } = spot;
  const isItem = crumbs.at(-1)?.kind === "item";
  if (isFlow || (!isItem && !isFresh)) {
    return suggestFields(caret, shape, { others: new Set(), column, isFlow: true, wrap: "{}" });
  }
  if (isItem) return suggestItem(caret, crumbs.slice(0, -1), shape, column, "");
  if (isResources(crumbs)) return suggestResources(caret);
  if (shape.item !== undefined) return suggestItem(caret, crumbs, shape.item, column, "- ");
  const fields = suggestFields(caret, shape, { others: new Set(), column, isFlow: false, wrap: "" });
  return crumbs.length === 0 ? [...fields, ...suggestFiles(caret)] : fields;
}

/** A new list item, inserted after `dash`. `column` includes the dash. */
function suggestItem(
  caret: Caret,
  list: readonly Crumb[],
  item: Shape,
  column: number,
  dash: "- " | "",
): readonly Suggestion[] {
  const at = { others: new Set<string>(), column: column + dash.length, isFlow: false, wrap: dash } as const;
  const fields = suggestFields(caret, item, at);
  const [only, other] = list;
  const isSteps = other === undefined && only?.kind === "entry" && isStepList(only.entry.name.text);
  return isSteps ? [...suggestSteps(caret, column + dash.length, dash), ...fields] : fields;
}

function isResources([only, other]: readonly Crumb[]): boolean {
  return other === undefined && only?.kind === "entry" && only.entry.name.text === "resources";
}

interface FieldPlace {
  readonly others: ReadonlySet<string>;
  /** The column of the name. */
  readonly column: number;
  readonly isFlow: boolean;
  /** What begins the map around the name: nothing, a list's dash, or a flow map's braces. */
  readonly wrap: "" | "- " | "{}";
}

/** A map has at most one of each group. */
const alternatives: readonly (readonly string[])[] = [
  [...httpMethods, "request"],
  bodyFields,
  ["query", "statements", "file"],
  ["role", "label", "placeholder", "test-id", "css"],
  ["use", "include"],
  actionNames,
];

/** A map with the field has none of these. */
const excluded: Readonly<Record<string, readonly string[]>> = {
  get: bodyFields,
  head: bodyFields,
  params: ["statements", "file"],
  text: ["label", "placeholder"],
};

function suggestFields(caret: Caret, shape: Shape, place: FieldPlace): readonly Suggestion[] {
  const { others } = place;
  const isTarget = shape.fields.has("css");
  return [...shape.fields.values()]
    .filter(({ name }) => !others.has(name) && !isExcluded(name, shape, others))
    .filter(({ name }) => !isTarget || name !== "name" || others.has("role"))
    .sort((one, other) => rank(one) - rank(other))
    .map((field) => suggestField(caret, field, place));
}

/** The fields of a step's own action come before those that every step has. */
function rank({ name }: Field): number {
  if (name === "name" || name === "use") return 0;
  return name.startsWith("$") ? 2 : Object.hasOwn(everyStep, name) ? 1 : 0;
}

function isExcluded(name: string, { fields }: Shape, others: ReadonlySet<string>): boolean {
  const isThere = (other: string) => fields.has(other) && others.has(other);
  const isOneOf = (names: readonly string[]) => names.every((other) => fields.has(other));
  return (
    alternatives.some((names) => names.includes(name) && isOneOf(names) && names.some(isThere)) ||
    Object.entries(excluded).some(
      ([one, names]) => (name === one && names.some(isThere)) || (isThere(one) && names.includes(name)),
    )
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
    goesOn: !hasColon,
  };
}

/** The text after a name's colon, with the caret where the value begins. */
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
