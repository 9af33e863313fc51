import { functions, isFunctionName, parametersOf, signatureOf } from "../expression/names.ts";
import { describeField } from "../file/fieldTexts.ts";
import { everyStep } from "../file/values.ts";
import type { ReadPart } from "../partFiles.ts";
import { actionNames } from "../types/browserFile.ts";
import { bodyFields, httpMethods } from "../types/httpFile.ts";
import { type Caret, caretAt } from "./caret.ts";
import { placeAt } from "./expressionAt.ts";
import { contextText, type MemberText, membersOf, type Surroundings } from "./members.ts";
import { type Field, isStepList, type Shape, shapeAt } from "./shape.ts";
import {
  escapeSnippet,
  type Suggestion,
  suggestFiles,
  suggestResources,
  suggestSteps,
  suggestValues,
} from "./suggestion.ts";
import { type Crumb, startOfLine } from "./tree.ts";

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

/** The beginning of an expression before the caret, even if not all of its braces are typed. */
const unfinished = /(?<!\$)\$(?:\{(?:\{((?:(?!\}\}).)*))?)?$/;
/** A path before the caret: what has been chosen of it, with its last dot, and the name that is being typed. */
const typedPath =
  /(?<![\w.\]-])((?:[A-Za-z_][\w-]*)(?:\.[\w-]+|\.\*|\[\d+\]|\['[^']*'\])*\.)?([A-Za-z_][\w-]*)?$/;

/**
 * What can be read and called in an expression at the caret; never the value of a variable.
 * @returns undefined where no expression is.
 */
function suggestExpressions(text: string, offset: number, caret: Caret): readonly Suggestion[] | undefined {
  const { spot, outline } = caret;
  if (spot.kind !== "value") return undefined;
  const { place, step } = placeAt(spot.crumbs, outline);
  if (place.kind === "fixed") return undefined;
  const isExpression = place.kind === "expression";
  const begun = isExpression ? undefined : unfinished.exec(text.slice(startOfLine(text, offset), offset));
  if (begun === null) return undefined;
  const source = isExpression ? caret.typed : begun?.[1];
  const isBare = !isExpression && spot.style === "plain" && spot.isFlow;
  const start = offset - (begun?.[0].length ?? 0);
  // In a flow map, a plain text ends at a bracket, and quotes can only be added around a whole value.
  if (isBare && start !== caret.word.start) return [];
  const [path, owner, word = ""] = typedPath.exec(source ?? "") ?? [];
  const isInText = (source ?? "").split("'").length % 2 === 0;
  if (path === undefined || isInText) return [];
  const at: Surroundings = { text, outline, step };
  const chosen = owner === undefined ? undefined : namesOf(owner);
  const found: readonly MemberText[] =
    chosen !== undefined
      ? place.contexts.some((name) => name === chosen[0])
        ? membersOf(chosen, at)
        : []
      : place.contexts.flatMap((name) => [
          contextText(name),
          ...membersOf([name], at).map((member) => ({ ...member, name: `${name}.${member.name}` })),
        ]);

  const { behind, close } = whatFollows(text, offset, isExpression);
  const isOpened = source !== undefined;
  const replaces = { start: isOpened ? offset - word.length : start, end: offset + behind };
  const suggestion = (label: string, inserted: string, shown: Partial<Suggestion>): Suggestion => {
    const written = `${isOpened ? (source === "" && !isExpression ? " " : "") : "\\${{ "}${inserted}${close}`;
    return {
      kind: "variable",
      label,
      snippet: isBare ? `"${written}"` : written,
      replaces,
      ...(!isOpened && { typedAs: `${begun?.[0] ?? ""}${label}` }),
      ...shown,
    };
  };
  return [
    ...found.map(({ name, detail, meaning, goesOn }) =>
      suggestion(name, `${escapeSnippet(name)}${goesOn ? "." : ""}$0`, {
        detail,
        documentation: meaning,
        ...(goesOn && { goesOn }),
      }),
    ),
    ...(chosen !== undefined ? [] : Object.keys(functions).filter(isFunctionName)).map((name) =>
      suggestion(name, parametersOf(name).length === 0 ? `${name}()$0` : `${name}($0)`, {
        kind: "function",
        detail: signatureOf(name),
        documentation: functions[name].meaning,
      }),
    ),
  ];
}

/** `steps.order['json'][0].` as its names. */
function namesOf(path: string): readonly (string | number)[] {
  return [...path.matchAll(/\['([^']*)'\]|\[(\d+)\]|([\w-]+|\*)/g)].map(
    ([, quoted, index, name]) => quoted ?? name ?? Number(index),
  );
}

/** How much of what follows the caret is replaced, and what closes the expression. */
function whatFollows(
  text: string,
  offset: number,
  isExpression: boolean,
): { readonly behind: number; readonly close: string } {
  const line = text.slice(offset).split("\n", 1)[0] ?? "";
  const word = /^[\w-]*/.exec(line)?.[0].length ?? 0;
  if (isExpression) return { behind: word, close: "" };
  const braces = /^[\w-]*\s*\}{1,2}/.exec(line)?.[0].length;
  const isClosed = braces === undefined && /^(?:(?!\$\{\{).)*\}\}/.test(line);
  return isClosed ? { behind: word, close: "" } : { behind: braces ?? word, close: " \\}\\}" };
}
