import type { Problem } from "../parse/problem.ts";
import { suggested } from "../parse/problem.ts";
import type { Edit } from "./outline.ts";
import { type Span, spotAt, type Tree } from "./tree.ts";

/**
 * The text to underline for a problem: the name, the value on one line, or the word at its position. Empty only in
 * an empty text.
 */
export function problemSpan(text: string, tree: Tree | undefined, { line, column }: Problem): Span {
  const lineStart = startOfLine(text, line);
  const lineEnd = endOfLine(text, lineStart);
  const start = Math.min(lineStart + column - 1, lineEnd);
  const part = partFrom(tree, start);
  const end = part === undefined ? endOfWord(text, start, lineEnd) : Math.min(part.end, lineEnd);
  if (end > start) return { start, end };
  // At the end of a line, the character before it is underlined.
  const before = text.slice(lineStart, start).trimEnd().length;
  return before > 0
    ? { start: lineStart + before - 1, end: start }
    : { start: lineStart, end: Math.max(lineEnd, start) };
}

/** The fix for a misspelt word; undefined where the parser suggests none or the span doesn't hold the word. */
export function correction(
  text: string,
  span: Span,
  message: string,
): (Edit & { readonly meant: string }) | undefined {
  const words = suggested(message);
  if (words === undefined) return undefined;
  const at = text.slice(span.start, span.end).indexOf(words.written);
  if (at === -1) return undefined;
  const start = span.start + at;
  return { span: { start, end: start + words.written.length }, text: words.meant, meant: words.meant };
}

/** The text, flow list or flow map that begins here; for a block map its first name. */
function partFrom(tree: Tree | undefined, start: number): Span | undefined {
  const flow = flowFrom(tree, start);
  if (flow !== undefined) return flow;
  const spot = spotAt(tree, start);
  return spot?.text.start === start ? spot.text : undefined;
}

function flowFrom(tree: Tree | undefined, start: number): Span | undefined {
  if (tree === undefined || start < tree.start || start > tree.end) return undefined;
  switch (tree.kind) {
    case "map":
      if (tree.isFlow && tree.start === start) return tree;
      return first(
        tree.entries.map(({ value }) => value),
        start,
      );
    case "list":
      return tree.isFlow && tree.start === start ? tree : first(tree.items, start);
    case "text":
    case "other":
      return undefined;
    default:
      return tree satisfies never;
  }
}

function first(trees: readonly (Tree | undefined)[], start: number): Span | undefined {
  for (const tree of trees) {
    const found = flowFrom(tree, start);
    if (found !== undefined) return found;
  }
  return undefined;
}

function startOfLine(text: string, line: number): number {
  let start = 0;
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf("\n", start);
    if (end === -1) break;
    start = end + 1;
  }
  return start;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  const line = end === -1 ? text.slice(start) : text.slice(start, end);
  return start + line.trimEnd().length;
}

function endOfWord(text: string, start: number, lineEnd: number): number {
  const word = /^(?:[^\s,:{}[\]]+|.)/u.exec(text.slice(start, lineEnd))?.[0] ?? "";
  return start + word.length;
}
