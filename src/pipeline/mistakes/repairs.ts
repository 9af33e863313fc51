import type { Edit, Fix, Place, Problem, Span } from "./problem.ts";
import { type Line, lineIndex, linesOf, type Slip } from "./slip.ts";

export const mostProblems = 100;

type Edits = readonly Edit[];

/** Applies edits that don't overlap. */
export function edited(text: string, edits: Edits): string {
  return edits
    .toSorted((one, other) => other.span.start - one.span.start)
    .reduce(
      (before, { span, text: put }) => before.slice(0, span.start) + put + before.slice(span.end),
      text,
    );
}

/**
 * Whether edits mend the trouble at an offset: what is left begins after both. Complaints about text before both don't count.
 */
export function isMended(edits: Edits, slip: Slip, at: number, { errors, complaints }: Troubles): boolean {
  const first = Math.min(...edits.map(({ span }) => span.start));
  const ends = [at, slip.end - 1, ...edits.map(({ span }) => span.end)];
  const bound = Math.max(...ends.map((end) => forward(edits, end)));
  return (
    errors.every((offset) => offset > bound) && complaints.every((offset) => offset > bound || offset < first)
  );
}

export interface Troubles {
  readonly errors: readonly number[];
  readonly complaints: readonly number[];
}

function forward(edits: Edits, offset: number): number {
  return edits
    .filter(({ span }) => span.start <= offset)
    .reduce((sum, { span, text }) => sum + text.length - (span.end - span.start), offset);
}

function back(edits: Edits, offset: number): number {
  let delta = 0;
  for (const { span, text } of edits.toSorted((one, other) => one.span.start - other.span.start)) {
    const start = span.start + delta;
    if (offset < start) break;
    if (offset < start + text.length) return Math.min(span.start + offset - start, span.end);
    delta += text.length - (span.end - span.start);
  }
  return offset - delta;
}

/** The mistakes that were mended one after the other, and the mapping of the mended text's offsets to the file's. */
export class Repairs {
  readonly problems: Problem[] = [];
  readonly #text: string;
  readonly #lines: readonly Line[];
  readonly #done: Edits[] = [];
  /** The ranges that were left out of the reading. */
  readonly #gaps: Span[] = [];

  constructor(text: string) {
    this.#text = text;
    this.#lines = linesOf(text);
  }

  /** @param text the text in which the slip is. */
  mend(slip: Slip, edits: Edits, text: string): void {
    this.report(slip, text);
    this.#done.push(edits);
  }

  /** Leaves a line out: what its block then lacks isn't known. */
  leaveOut(slip: Slip, edits: Edits, text: string, block: Span): void {
    this.#gaps.push({ start: this.#offset(block.start), end: this.#offset(block.end) });
    this.mend(slip, edits, text);
  }

  /** Whether a problem at this place would only follow from one that is reported. */
  isConsequence({ line, column }: Place): boolean {
    const offset = (this.#lines[line - 1]?.start ?? 0) + column - 1;
    return (
      this.problems.some((problem) => problem.line === line && problem.column === column) ||
      this.#gaps.some(({ start, end }) => start <= offset && offset < end)
    );
  }

  report(slip: Slip, mended: string): void {
    if (this.problems.length >= mostProblems) return;
    const [start, end] = [this.#offset(slip.start), this.#offset(slip.end)];
    const fix = this.fixOf(slip, mended);
    this.problems.push({
      message: slip.message,
      ...this.#placeOf(start),
      ...(end > start ? { span: { start, end } } : {}),
      ...(fix === undefined ? {} : { fix }),
    });
  }

  /** The fix for the file; undefined where another mistake is in the way. */
  fixOf({ fix }: Slip, mended: string): Fix | undefined {
    if (fix === undefined) return undefined;
    const toFile = ({ span, text }: Edit): Edit => ({
      span: { start: this.#offset(span.start), end: this.#offset(span.end) },
      text,
    });
    const [first, ...others] = fix.edits;
    const edits = [toFile(first), ...others.map(toFile)] as const;
    const isSame = edits.every(({ span }, index) => {
      const before = fix.edits[index]?.span;
      return before && this.#text.slice(span.start, span.end) === mended.slice(before.start, before.end);
    });
    return isSame ? { kind: fix.kind, edits } : undefined;
  }

  /** The position in the file of an offset in the mended text. */
  place(offset: number): Place {
    return this.#placeOf(this.#offset(offset));
  }

  #offset(offset: number): number {
    return this.#done.reduceRight((at, edits) => back(edits, at), offset);
  }

  /** The YAML library's own line counter is wrong for some invalid texts. */
  #placeOf(offset: number): Place {
    const inside = Math.min(offset, this.#text.length);
    const index = lineIndex(this.#lines, inside);
    return { line: index + 1, column: inside - (this.#lines[index]?.start ?? 0) + 1 };
  }
}
