import type { Terminal } from "./terminal.ts";

/** The signs that the tool's lines are made of. */
export interface Marks {
  readonly good: string;
  readonly bad: string;
  /** Between two facts on one line. */
  readonly between: string;
  /** Where a line was cut. */
  readonly ellipsis: string;
  /** The pictures of what turns while something is waited for. */
  readonly spinner: readonly string[];
}

const unicodeMarks: Marks = {
  good: "✓",
  bad: "✗",
  between: "·",
  ellipsis: "…",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const asciiMarks: Marks = {
  good: "+",
  bad: "x",
  between: "-",
  ellipsis: "...",
  spinner: ["|", "/", "-", "\\"],
};

/** The signs that show as they should on a terminal. */
export function marksOf({ hasUnicode }: Pick<Terminal, "hasUnicode">): Marks {
  return hasUnicode ? unicodeMarks : asciiMarks;
}
