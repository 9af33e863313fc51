import { problemSpan } from "../../pipeline/editing/problemSpan.ts";
import type { Problem } from "../../pipeline/problemList.ts";
import type { Analysis } from "./analyses.ts";

/** A place in a text as the editor counts: both from 0, characters in UTF-16 units. */
export interface TextPlace {
  readonly line: number;
  readonly character: number;
}

/** A problem of a pipeline file as the editor underlines it. */
export interface ShownProblem {
  readonly message: string;
  readonly from: TextPlace;
  readonly to: TextPlace;
}

export function shownProblem({ text, outline }: Analysis, problem: Problem): ShownProblem {
  const { start, end } = problemSpan(text, outline.tree, problem);
  return { message: problem.message, from: placeAt(text, start), to: placeAt(text, end) };
}

/** Line and character of an offset. */
export function placeAt(text: string, offset: number): TextPlace {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
}
