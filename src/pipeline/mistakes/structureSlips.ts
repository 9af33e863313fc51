import { newItem, reindented, shifted, wrongIndent } from "./indentSlips.ts";
import { entryOfLine, type Line, lineIndex, linesOf } from "./lines.ts";
import type { Span } from "./problem.ts";
import { change, type Slip } from "./slip.ts";

/** The fields of a resource that stand beside its name. */
export function besideNameSlip(
  text: string,
  at: number,
  isField: (name: string) => boolean,
): Slip | undefined {
  const lines = linesOf(text);
  const index = lineIndex(lines, at);
  const line = lines[index];
  if (line === undefined || line.start + line.indent !== at) return undefined;
  const end = lines.findIndex(
    (other, below) =>
      below > index &&
      (other.indent < line.indent ||
        (other.indent === line.indent && !isField(entryOfLine(other)?.name ?? ""))),
  );
  const fix = shifted(lines.slice(index, end === -1 ? lines.length : end), 2);
  return fix && { message: wrongIndent(line.indent + 2), start: at, end: line.end, fix };
}

/** A name that appears twice because its item lacks a dash; undefined for another. */
export function duplicateSlip(text: string, name: string, at: number, first: number): Slip | undefined {
  if (name !== "use") return undefined;
  const lines = linesOf(text);
  const line = lines[lineIndex(lines, at)];
  const opener = lines[lineIndex(lines, first)];
  const dash = opener && /^( *)- +(?=[\w$])/.exec(opener.text);
  if (line === undefined || !dash || line.indent !== dash[0].length) return undefined;
  if (line.start + line.indent !== at) return undefined;
  const column = dash[1]?.length ?? 0;
  return {
    message: "a second `use` in one step: if a new step begins here, it needs `- `",
    start: at,
    end: at + name.length,
    fix: {
      kind: "dash",
      edits: [{ span: { start: line.start + column, end: at }, text: "-".padEnd(line.indent - column) }],
    },
  };
}

/** A block map where `steps` needs a list. */
export function undashedSlip(text: string, at: number, end: number): Slip | undefined {
  const lines = linesOf(text);
  const block = lines.slice(lineIndex(lines, at), lineIndex(lines, Math.max(at, end - 1)) + 1);
  const [line] = block;
  return line && newItem(line, block, { start: at, end: line.start + line.text.trimEnd().length });
}

/** Dashes where none belongs. */
export function dashedSlip(message: string, dashes: readonly number[]): Slip | undefined {
  const [first, ...others] = dashes.map((start) => ({ span: { start, end: start + 1 }, text: " " }));
  return first && { message, ...first.span, fix: { kind: "remove", edits: [first, ...others] } };
}

/** A field of a step that stands at the file's top. */
export function outdentedSlip(text: string, at: number): Slip | undefined {
  const lines = linesOf(text);
  return reindented(lines, lineIndex(lines, at))[0];
}

const noBreak = /^[\u00A0\u2000-\u200B\u3000][\u00A0\u2000-\u200B\u3000\s]*/;

/** Whether a name begins with spaces that YAML takes for letters. */
export function hasNoBreak(name: string): boolean {
  return noBreak.test(name);
}

export function noBreakSlip(name: string, at: number): Slip {
  const length = noBreak.exec(name)?.[0].length ?? 0;
  return {
    message: "this line is indented with no-break spaces, which YAML takes for letters",
    start: at,
    end: at + length,
    fix: change("indent", at, at + length, " ".repeat(length)),
  };
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
