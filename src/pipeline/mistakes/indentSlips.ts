import type { Edit, Fix, Span } from "./problem.ts";
import { change, entryOfLine, insertion, type Line, type Site, type Slip } from "./slip.ts";

/** The text after `|` on lines that aren't indented more than its name. */
export function tooShallow({ lines, index }: Site): Slip | undefined {
  const line = lines[index];
  const above = lines.slice(0, index).findLastIndex(({ text: held }) => /:\s+[|>][+-]?\d?\s*$/.test(held));
  const opener = lines[above];
  const entry = opener && entryOfLine(opener);
  if (line === undefined || entry === undefined || index > above + 1 + line.indent) return undefined;
  let last = index;
  while (
    (lines[last + 1]?.indent ?? -1) >= line.indent &&
    lines[last + 1]?.text.trim() !== "" &&
    entryOfLine(lines[last + 1] ?? line) === undefined
  )
    last += 1;
  const wanted = Math.max(entry.column + 2, lines[above + 1] === line ? 0 : (lines[above + 1]?.indent ?? 0));
  const fix = shifted(lines.slice(index, last + 1), wanted - line.indent);
  return {
    message: `the text after \`${entry.name}: |\` has to be indented more`,
    start: line.start + line.indent,
    end: line.end,
    ...(fix === undefined ? {} : { fix }),
  };
}

/** A text of several lines without `|`, one of which looks like something else. */
export function missingPipe({ lines, line, index }: Site): readonly Slip[] {
  const above = lines
    .slice(0, index)
    .findLast((other) => other.text.trim() !== "" && other.indent < line.indent);
  const entry = above && entryOfLine(above);
  if (above === undefined || entry === undefined || entry.column >= line.indent) return [];
  return [pipeSlip(above, entry.value, entry.name, line.indent)];
}

function pipeSlip(above: Line, value: Span, name: string, indent: number): Slip {
  const isBare = value.start >= value.end;
  const at = isBare ? above.start + above.text.trimEnd().length : value.start;
  return {
    message: `a text of several lines needs \`|\`: \`${name}: |\``,
    start: above.start + (entryOfLine(above)?.column ?? above.indent),
    end: at,
    fix: change("insert", at, at, isBare ? " |" : `|\n${" ".repeat(indent)}`),
  };
}

/** A value that runs into the next line: that line is indented too far, or both are one text. */
export function wrongLine({ lines, line, index, error, isField }: Site): readonly Slip[] {
  const next = lines.slice(index + 1).find((other) => other.text.trim() !== "");
  const entry = entryOfLine(line);
  const below = next && entryOfLine(next);
  if (next === undefined || entry === undefined || next.indent <= entry.column) return [];
  if (isField(entry.name) && (below === undefined || !isField(below.name)))
    return [pipeSlip(line, entry.value, entry.name, next.indent)];
  if (error.code === "MISSING_CHAR") return [];
  return reindented(lines, lines.indexOf(next));
}

export function indentation({ lines, index, error }: Site): readonly Slip[] {
  return error.code === "BAD_INDENT" || /Sequence item without|block sequence may not/.test(error.message)
    ? reindented(lines, index)
    : [];
}

/** The line, or it and those below that go with it, at the columns of the lines above, the nearest first. */
function reindented(lines: readonly Line[], index: number): readonly Slip[] {
  const line = lines[index];
  if (line === undefined) return [];
  const isItem = line.text[line.indent] === "-";
  const columns = new Set(
    lines
      .slice(0, index)
      .reverse()
      .flatMap((above) => columnsOf(above, isItem))
      // What isn't indented is rather a field of the file than one of a step.
      .filter((column) => isItem || column > 0),
  );
  const lastWithIt = lines.findIndex(
    (other, at) =>
      at > index &&
      other.text.trim() !== "" &&
      (other.indent < line.indent || (other.indent === line.indent && other.text[other.indent] === "-")),
  );
  const block = lines.slice(index, lastWithIt === -1 ? lines.length : lastWithIt);
  const span = { start: line.start + line.indent, end: line.start + line.text.trimEnd().length };
  const moved = (those: readonly Line[]) =>
    [...columns].slice(0, mostColumns).flatMap((column): Slip[] => {
      const fix = shifted(those, column - line.indent);
      return fix === undefined ? [] : [{ message: wrongIndent(column), ...span, fix }];
    });
  const isBesideDash = lines.slice(0, index).some((above) => columnsOf(above, true).includes(line.indent));
  return [
    ...moved(block),
    ...(isBesideDash && !isItem ? [newItem(line, block, span)] : []),
    ...moved([line]),
  ];
}

function wrongIndent(column: number): string {
  return `the indentation is wrong: this line has to begin in column ${column + 1}`;
}

const mostColumns = 3;

/** A list's next item without its dash. */
function newItem(line: Line, block: readonly Line[], span: Span): Slip {
  const at = line.start + line.indent;
  const rest = block.slice(1).filter(({ text }) => text.trim() !== "");
  return {
    message: "a dash is missing: each item of a list begins with `- `",
    ...span,
    fix: { kind: "dash", edits: [insertion(at, "- "), ...rest.map(({ start }) => insertion(start, "  "))] },
  };
}

/** The columns at which a line's dashes or its text begin. */
function columnsOf({ text }: Line, ofDashes: boolean): readonly number[] {
  if (/^\s*(?:#|$)/.test(text)) return [];
  const before = /^ *(?:- +)*/.exec(text)?.[0] ?? "";
  if (!ofDashes) return [before.length];
  return [...before.matchAll(/-/g)].map(({ index }) => index);
}

/** Moves lines to the right, or to the left where they have the spaces. */
function shifted(lines: readonly Line[], by: number): Fix | undefined {
  const full = lines.filter(({ text }) => text.trim() !== "");
  if (by === 0 || full.some(({ indent }) => indent + by < 0)) return undefined;
  return indents(
    full.map(({ start }) =>
      by > 0 ? insertion(start, " ".repeat(by)) : { span: { start, end: start - by }, text: "" },
    ),
  );
}

function indents([first, ...others]: readonly Edit[]): Fix | undefined {
  return first && { kind: "indent", edits: [first, ...others] };
}

/** All tabs of the file's indentation at once. */
export function tabs({ line, lines }: Site): readonly Slip[] {
  const at = /^\s*/.exec(line.text)?.[0] ?? "";
  if (!at.includes("\t")) return [];
  const found = {
    message: "this line is indented with a tab; YAML is indented with spaces",
    start: line.start,
    end: line.start + at.length,
  };
  const slips = [2, 4, 8].flatMap((width): Slip[] => {
    const fix = indents(
      lines.flatMap(({ text, start }) =>
        [...(/^[ \t]*/.exec(text)?.[0] ?? "").matchAll(/\t+/g)].map(({ 0: run, index }) => ({
          span: { start: start + index, end: start + index + run.length },
          text: " ".repeat(width * run.length),
        })),
      ),
    );
    return fix === undefined ? [] : [{ ...found, fix }];
  });
  return [...slips, found];
}
