import { controlCharacters } from "../../text/controlCharacters.ts";

/** A position in a text: `line` and `column` count from 1, columns in UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A range of a text in UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Edit {
  readonly span: Span;
  readonly text: string;
}

/** The edits that together fix a problem. The kind is for its title in an editor. */
export interface Fix {
  readonly kind: "quote" | "indent" | "dash" | "move" | "space" | "insert" | "remove" | "change";
  readonly edits: readonly [Edit, ...Edit[]];
}

export interface Problem extends Place {
  readonly message: string;
  /** What is wrong, where that is known better than by the position. */
  readonly span?: Span;
  readonly fix?: Fix;
}

export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** The problem as one line that editors and terminals turn into a link: `path:line:column: message`. */
export function formatProblem(file: string, problem: Problem): string {
  return `${file}:${problem.line}:${problem.column}: ${problem.message}`;
}

const longestName = 60;

/**
 * The candidate most similar to `name`: at most a third of its letters away, where an omitted, added, changed or swapped
 * letter counts as one. Case-insensitive.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name === "" || name.length > longestName) return undefined;
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** `; did you mean …?` for the end of a message, or nothing when no candidate is near. */
export function suggestion(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? "" : `; did you mean \`${nearest}\`?`;
}

/** Optimal string alignment: Levenshtein's distance in which two swapped neighbours are one edit. */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Math.max(row, column);
  for (let row = 1; row <= from.length; row += 1) {
    rows[row] = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      rows[row]?.push(
        Math.min(
          at(row, column - 1) + 1,
          at(row - 1, column) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}

/**
 * Parses a message that ends with a `suggestion`: what is written, which is the last text in backticks before it, and
 * what was meant.
 * @returns undefined for a message without a suggestion.
 */
export function suggested(message: string): { readonly written: string; readonly meant: string } | undefined {
  const [, written, meant] = /`([^`]+)`[^`]*; did you mean `([^`]+)`\?/.exec(message) ?? [];
  return written === undefined || meant === undefined ? undefined : { written, meant };
}

const hidden = new RegExp(`[\\s${controlCharacters}]+`, "gu");

/** A text of the file for a message: shortened, on one line, without control characters. */
export function quoted(text: string): string {
  const line = text.replace(hidden, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}

/** Entries of one value: for each of the names, which spaces separate. */
export function each<const T>(names: string, meant: T) {
  return Object.fromEntries(names.split(" ").map((name) => [name, meant]));
}
