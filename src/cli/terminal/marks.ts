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

/** A status as a person sees it: a mark, so that none is told by its colour alone, and a colour. */
interface StatusLook {
  readonly mark: string;
  readonly paint: (text: string) => string;
}

/** One that this version doesn't know shows as it is (contract: "Endpoints"). */
export function statusLook(
  status: string,
  { style, hasUnicode }: Pick<Terminal, "style" | "hasUnicode">,
): StatusLook {
  const mark = (unicode: string, ascii: string) => (hasUnicode ? unicode : ascii);
  switch (status) {
    case "running":
    case "cancelling":
      return { mark: mark("●", "*"), paint: style.caution };
    case "succeeded":
      return { mark: mark("✓", "+"), paint: style.good };
    case "failed":
    case "timed-out":
    case "lost":
      return { mark: mark("✗", "x"), paint: style.bad };
    case "cancelled":
      return { mark: mark("−", "-"), paint: style.dim };
    default:
      return { mark: mark("·", "."), paint: style.dim };
  }
}

/** The mark and the word. */
export function statusText(status: string, terminal: Pick<Terminal, "style" | "hasUnicode">): string {
  const { mark, paint } = statusLook(status, terminal);
  return paint(`${mark} ${status}`);
}
