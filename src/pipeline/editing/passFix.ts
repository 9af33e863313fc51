import { inQuotes } from "../mistakes/lines.ts";
import type { Edit, Fix, Span } from "../mistakes/problem.ts";
import { insertion } from "../mistakes/slip.ts";
import { isWindowsShell } from "../scriptItems.ts";
import { expressionsOf, type FoundExpression, placeAt } from "./expressionAt.ts";
import type { Outline } from "./outline.ts";
import {
  asYamlText,
  type Entry,
  entriesOf,
  entryOf,
  type MapTree,
  startOfLine,
  textBehind,
  touches,
} from "./tree.ts";

/**
 * Passes a value to a script by a variable, or to a statement as a param, in place of the expression at a problem's span.
 * @returns undefined where the problem is another, and where it isn't certain that the step does the same then.
 */
export function passFix(text: string, outline: Outline, span: Span): Fix | undefined {
  const found = expressionsOf(text, outline).find((expression) => touches(expression.span, span.start));
  const [, , field, item, deeper] = found?.crumbs ?? [];
  if (found === undefined || field?.kind !== "entry" || deeper !== undefined) return undefined;
  const { place } = placeAt(found.crumbs, outline);
  if (place.kind !== "text" || place.instead === undefined) return undefined;
  const { map, entry } = field;
  if (entry.name.text === "run") return byVariable(text, outline, found, map, entry);
  return item === undefined ? byParam(text, outline, found, map, entry) : undefined;
}

function byVariable(
  text: string,
  outline: Outline,
  found: FoundExpression,
  map: MapTree,
  entry: Entry,
): Fix | undefined {
  const script = found.tree.text;
  const before = script.slice(0, found.at);
  const quote = openQuote(before);
  // In a comment, a document or a command of its own, quotes may count otherwise; and `#!` names another program.
  if (quote === "'" || /<<|#|`|\$\(/.test(script)) return undefined;
  const env = entryOf(map, "env")?.value;
  const use = textBehind(map, "use")?.text ?? "";
  const resource = entryOf(entryOf(outline.tree, "resources")?.value, use)?.value;
  const taken = new Set([
    ...wellKnown,
    ...[env, entryOf(resource, "env")?.value].flatMap((tree) => entriesOf(tree).map(({ name }) => name.text)),
    ...[...script.matchAll(/\$\{?([A-Za-z_]\w*)/g)].flatMap(([, name]) => name ?? []),
  ]);
  const name = namesFor(found).find((candidate) => !taken.has(candidate));
  if (name === undefined) return undefined;
  const list = entry.value?.kind === "list" ? entry.value : undefined;
  if (list?.items.some((item) => item?.kind === "text" && isWindowsShell(item.text))) return undefined;
  const isFlow = map.isFlow || list?.isFlow === true;
  const replaced = replacement(text, found, quote === '"' ? `\${${name}}` : `"$${name}"`, isFlow);
  const written = `${name}: ${inQuotes(`\${{${found.source}}}`)}`;
  if (replaced === undefined || (env !== undefined && env.kind !== "map")) return undefined;
  const [first] = entriesOf(env);
  if (env === undefined)
    return { kind: "env", edits: [entryBefore(text, map, entry, `env: { ${written} }`), replaced] };
  const added =
    first === undefined
      ? { span: { start: env.start, end: env.end }, text: `{ ${written} }` }
      : entryBefore(text, env, first, written);
  return { kind: "env", edits: [added, replaced] };
}

/** Variables that mean something to programs. */
const wellKnown = [
  "PATH",
  "HOME",
  "USER",
  "SHELL",
  "PWD",
  "LANG",
  "TERM",
  "IFS",
  "CI",
  "TMPDIR",
  "TEMP",
  "TMP",
];

/** Of `steps.order.json.id`: `ID`, `STEPS_ORDER_JSON_ID`. */
function namesFor({ references }: FoundExpression): readonly string[] {
  const read = references.find(({ context }) => context !== "env");
  if (read === undefined) return [];
  const names = [read.context, ...read.path.flatMap(({ name }) => (typeof name === "string" ? name : []))];
  return [names.slice(-1), names]
    .map((some) => some.join("_").replace(/\W+/g, "_").toUpperCase())
    .filter((name) => /^[A-Z_]/.test(name));
}

/** The quote that is still open at the end of a script's beginning; empty when none is. */
function openQuote(script: string): string {
  let open = "";
  for (const [sign] of script.matchAll(/\\[\s\S]|["']/g)) {
    const mark = open === "'" ? sign.slice(-1) : sign;
    if (open === "" && (mark === '"' || mark === "'")) open = mark;
    else if (mark === open) open = "";
  }
  return open;
}

function byParam(
  text: string,
  outline: Outline,
  found: FoundExpression,
  map: MapTree,
  entry: Entry,
): Fix | undefined {
  const query = found.tree.text;
  const before = query.slice(0, found.at);
  if (openQuote(before) !== "" || /--|\/\*|\\|\?\d|\$\$|\$[A-Za-z_]+\$/.test(query)) return undefined;
  const use = textBehind(map, "use")?.text ?? "";
  const url = textBehind(entryOf(entryOf(outline.tree, "resources")?.value, use)?.value, "url")?.text ?? "";
  const list = entryOf(map, "params")?.value;
  if (list !== undefined && list.kind !== "list") return undefined;
  const count = list?.items.length ?? 0;
  const marks = (part: string) => part.split("?").length - 1;
  const isNext = marks(before) === count && !query.slice(found.at + found.source.length).includes("?");
  const sign = /^postgres(?:ql)?:/.test(url)
    ? `$${count + 1}`
    : /^sqlite:/.test(url) && isNext
      ? "?"
      : undefined;
  const replaced = sign && replacement(text, found, sign, map.isFlow);
  if (!replaced) return undefined;
  const written = inQuotes(`\${{${found.source}}}`);
  const last = list?.items.at(-1);
  if (list === undefined)
    return { kind: "params", edits: [entryBefore(text, map, entry, `params: [${written}]`), replaced] };
  if (last === undefined)
    return {
      kind: "params",
      edits: [{ span: { start: list.start, end: list.end }, text: `[${written}]` }, replaced],
    };
  const dash = `\n${" ".repeat(list.start - startOfLine(text, list.start))}- `;
  return {
    kind: "params",
    edits: [insertion(last.end, `${list.isFlow ? ", " : dash}${written}`), replaced],
  };
}

/** Puts a text in the place of an expression with its braces. */
function replacement(text: string, found: FoundExpression, put: string, isFlow: boolean): Edit | undefined {
  const { tree, at, source, offsetOf } = found;
  const start = tree.text.lastIndexOf("${{", at);
  const end = at + source.length + 2;
  if (tree.style === "block")
    return { span: { start: offsetOf(start - at), end: offsetOf(end - at - 1) + 1 }, text: put };
  const value = tree.text.slice(0, start) + put + tree.text.slice(end);
  if (/[\r\n\t]/.test(text.slice(tree.start, tree.end)) || /\p{Cc}/u.test(value)) return undefined;
  const isPlain = tree.style === "plain" && !isFlow && asYamlText(value) === value;
  return { span: { start: tree.start, end: tree.end }, text: isPlain ? value : inQuotes(value) };
}

/** Inserts an entry into a map, before another. */
function entryBefore(text: string, { isFlow }: MapTree, { name }: Entry, written: string): Edit {
  const indent = " ".repeat(name.start - startOfLine(text, name.start));
  return insertion(name.start, `${written}${isFlow ? ", " : `\n${indent}`}`);
}
