import { type Fix, type Problem, type Span, suggested } from "../mistakes/problem.ts";
import { spotAt, type Tree } from "./tree.ts";

/**
 * The text to underline for a problem: the name, the value on one line, or the word at its position. Empty only in
 * an empty text.
 */
export function problemSpan(text: string, tree: Tree | undefined, problem: Problem): Span {
  if (problem.span !== undefined && problem.span.end > problem.span.start) return problem.span;
  const { line, column } = problem;
  const linesBefore = text.split("\n", line);
  const written = linesBefore.pop() ?? "";
  const lineStart = linesBefore.reduce((sum, { length }) => sum + length + 1, 0);
  const lineEnd = lineStart + written.trimEnd().length;
  const start = Math.min(lineStart + column - 1, lineEnd);
  const part = partFrom(tree, start);
  const isInside = part === undefined && spotAt(tree, start) !== undefined;
  const end = part === undefined ? endOfWord(text, start, lineEnd, isInside) : Math.min(part.end, lineEnd);
  if (end > start) return { start, end };
  // At the end of a line, the character before it is underlined.
  const before = text.slice(lineStart, start).trimEnd().length;
  return before > 0
    ? { start: lineStart + before - 1, end: start }
    : { start: lineStart, end: Math.max(lineEnd, start) };
}

/** The fix of a problem; for a misspelt word, the word that the parser suggests. Undefined if there is none. */
export function fixOf(text: string, span: Span, { message, fix }: Problem): Fix | undefined {
  if (fix !== undefined) return fix;
  const words = suggested(message);
  if (words === undefined) return undefined;
  const at = text.slice(span.start, span.end).indexOf(words.written);
  if (at === -1) return undefined;
  const start = span.start + at;
  const edit = { span: { start, end: start + words.written.length }, text: words.meant };
  return { kind: "change", edits: [edit] };
}

/** The text, flow list or flow map that begins here; for a block map its first name. */
function partFrom(tree: Tree | undefined, start: number): Span | undefined {
  if (tree === undefined || start < tree.start || start > tree.end) return undefined;
  if (tree.kind === "other") return undefined;
  if (tree.start === start && (tree.kind === "text" || tree.isFlow)) return tree;
  for (const part of partsOf(tree)) {
    const found = partFrom(part, start);
    if (found !== undefined) return found;
  }
  return undefined;
}

function partsOf(tree: Tree): readonly (Tree | undefined)[] {
  if (tree.kind === "map") return tree.entries.flatMap(({ name, value }) => [name, value]);
  return tree.kind === "list" ? tree.items : [];
}

/** @param isName whether the word is a name in an expression, which a dot ends. */
function endOfWord(text: string, start: number, lineEnd: number, isName: boolean): number {
  const pattern = isName ? /^(?:[\w-]+|.)/u : /^(?:[^\s,:{}[\]]+|.)/u;
  return start + (pattern.exec(text.slice(start, lineEnd))?.[0].length ?? 0);
}
