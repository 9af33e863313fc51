import { functions, isFunctionName, parametersOf, signatureOf } from "../expression/names.ts";
import type { Caret } from "./caret.ts";
import { placeAt } from "./expressionAt.ts";
import { contextText, type MemberText, membersOf, type Surroundings } from "./members.ts";
import { escapeSnippet, type Suggestion } from "./suggestion.ts";
import { startOfLine } from "./tree.ts";

/** The beginning of an expression before the caret, even if not all of its braces are typed. */
const unfinished = /(?<!\$)\$(?:\{(?:\{((?:(?!\}\}).)*))?)?$/;
/** A path before the caret: what has been chosen of it, with its last dot, and the name that is being typed. */
const typedPath =
  /(?<![\w.\]-])((?:[A-Za-z_][\w-]*)(?:\.[\w-]+|\.\*|\[\d+\]|\['[^']*'\])*\.)?([A-Za-z_][\w-]*)?$/;

/**
 * What can be read and called in an expression at the caret; never the value of a variable.
 * @returns undefined where no expression is.
 */
export function suggestExpressions(
  text: string,
  offset: number,
  caret: Caret,
): readonly Suggestion[] | undefined {
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
