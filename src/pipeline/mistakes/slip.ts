import type { YAMLError } from "yaml";
import type { Edit, Fix, Span } from "./problem.ts";

/** A mistake in a YAML text, in a person's words, with its fix if there is one. */
export interface Slip extends Span {
  readonly message: string;
  readonly fix?: Fix;
  /** Edits after which the rest can be read, but that don't fix the mistake. */
  readonly recovery?: readonly Edit[];
}

/** An error of the YAML library in its text. */
export interface Site {
  readonly text: string;
  readonly lines: readonly Line[];
  readonly line: Line;
  readonly index: number;
  readonly error: Pick<YAMLError, "code" | "message"> & { readonly start: number; readonly end: number };
  /** Whether pipeline files have a field of this name. */
  readonly isField: (name: string) => boolean;
}

export type Guess = (site: Site) => Slip | readonly Slip[] | undefined;

/** A fix that inserts, removes or replaces. */
export function change(kind: Fix["kind"], start: number, end: number, text: string): Fix {
  return { kind, edits: [{ span: { start, end }, text }] };
}

export function insertion(at: number, text: string): Edit {
  return { span: { start: at, end: at }, text };
}

/** A line of a text, without its line end. */
export interface Line extends Span {
  readonly text: string;
  /** The number of its leading spaces. */
  readonly indent: number;
}

export function linesOf(text: string): readonly Line[] {
  let start = 0;
  return text.split("\n").map((whole) => {
    const line = whole.replace(/\r$/, "");
    const at = start;
    start += whole.length + 1;
    return { text: line, start: at, end: at + line.length, indent: /^ */.exec(line)?.[0].length ?? 0 };
  });
}

export function lineIndex(lines: readonly Line[], offset: number): number {
  return Math.max(
    0,
    lines.findLastIndex(({ start }) => start <= offset),
  );
}

/** The lines around an offset that belong together: a step, or the entry of a resource. */
export function blockAround(text: string, at: number): { readonly line: Line; readonly block: Span } {
  const lines = linesOf(text);
  const index = lineIndex(lines, at);
  const line = lines[index] ?? { text: "", start: 0, end: 0, indent: 0 };
  const isOther = (other: Line) => other.text.trim() !== "" && other.indent < line.indent;
  const first = lines.findLastIndex((other, above) => above < index && isOther(other));
  const last = lines.findIndex((other, below) => below > index && isOther(other));
  return {
    line,
    block: {
      start: line.indent === 0 ? line.start : (lines[first]?.start ?? line.start),
      end: last === -1 ? text.length : (lines[last]?.start ?? line.end),
    },
  };
}

/** A line `name: value`, with the dashes before it. */
export interface EntryLine {
  readonly name: string;
  /** The column of the name, from 0. */
  readonly column: number;
  readonly value: Span;
}

const entryPattern = /^(\s*(?:- +)*)([\w$][\w$.-]*)\s*:(?:\s+|$)/;

/** The line as an entry of a block map; undefined where it is none. */
export function entryOfLine({ text, start, end }: Line): EntryLine | undefined {
  const [head = "", before = "", name] = entryPattern.exec(text) ?? [];
  if (name === undefined) return undefined;
  return { name, column: before.length, value: withoutComment(text, start, start + head.length, end) };
}

/**
 * The value around an offset of a line, as it was probably meant: of the entry of a flow map, of the line's entry, or of
 * the list's item.
 */
export function valueAround(line: Line, offset: number): Span | undefined {
  const entry = entryOfLine(line);
  const start =
    entry?.value.start ?? line.start + (/^\s*(?:- +)+/.exec(line.text)?.[0].length ?? line.indent);
  const inFlow = line.text[start - line.start] === "{" ? flowValue(line, start, offset) : undefined;
  const value = inFlow ?? entry?.value ?? withoutComment(line.text, line.start, start, line.end);
  return value.end > value.start ? value : undefined;
}

function flowValue({ text, start }: Line, from: number, offset: number): Span | undefined {
  const names = text.slice(from - start).matchAll(/[{,]\s*[\w$.-]+:\s+/g);
  const begins = [...names].map(({ 0: name, index }) => from + index + name.length);
  const begin = begins.findLast((at) => at <= offset);
  if (begin === undefined) return undefined;
  const [value = ""] = /^(?:\$?\{\{.*?\}\}|\$?\{[\w.:-]*\}|[^,{}])*/.exec(text.slice(begin - start)) ?? [];
  return { start: begin, end: begin + value.trimEnd().length };
}

/** Without a comment at the end, unless what looks like one is within a quotation. */
function withoutComment(text: string, lineStart: number, from: number, to: number): Span {
  const value = text.slice(from - lineStart, to - lineStart).trimEnd();
  const bare = value.replace(/(?:^|\s)#.*$/, "").trimEnd();
  return { start: from, end: from + (tearsQuotes(bare) && !tearsQuotes(value) ? value : bare).length };
}

/** Whether a quotation in the text begins but doesn't end. */
export function tearsQuotes(text: string): boolean {
  return (text.split('"').length - 1) % 2 === 1;
}

/** A text as one YAML value in quotes: double ones unless they would have to be escaped. */
export function inQuotes(text: string): string {
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`;
}
