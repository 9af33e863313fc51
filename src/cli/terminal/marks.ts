import type { Terminal } from "./terminal.ts";

/** The symbols in the tool's lines. */
export interface Marks {
  readonly good: string;
  readonly bad: string;
  /** Separates two facts on a line. */
  readonly between: string;
  readonly ellipsis: string;
  /** The frames. */
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

export function marksOf({ hasUnicode }: Pick<Terminal, "hasUnicode">): Marks {
  return hasUnicode ? unicodeMarks : asciiMarks;
}

/** How a status is displayed: a mark as well as a colour, so that no information is in the colour alone. */
interface StatusLook {
  readonly mark: string;
  readonly paint: (text: string) => string;
}

/** An unknown status is displayed as it is (contract: "Endpoints"). */
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

export function statusText(status: string, terminal: Pick<Terminal, "style" | "hasUnicode">): string {
  const { mark, paint } = statusLook(status, terminal);
  return paint(`${mark} ${status}`);
}
