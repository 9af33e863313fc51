import type { Terminal } from "./terminal.ts";

/** The symbols in the tool's lines. */
const unicodeMarks = {
  /** Separates two facts on a line. */
  between: "·",
  ellipsis: "…",
  /** The frames. */
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const asciiMarks: typeof unicodeMarks = {
  between: "-",
  ellipsis: "...",
  spinner: ["|", "/", "-", "\\"],
};

export function marksOf({ hasUnicode }: Pick<Terminal, "hasUnicode">) {
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

/** The look of a step: one that its run's end has stopped looks as that end does. */
export function stepLook(
  step: { readonly status: string },
  run: { readonly status: string },
  terminal: Pick<Terminal, "style" | "hasUnicode">,
): StatusLook {
  if (step.status !== "stopped") return statusLook(step.status, terminal);
  const isCancelled = run.status === "cancelling" || run.status === "cancelled";
  return statusLook(isCancelled ? "cancelled" : "failed", terminal);
}

export function statusText(status: string, terminal: Pick<Terminal, "style" | "hasUnicode">): string {
  const { mark, paint } = statusLook(status, terminal);
  return paint(`${mark} ${status}`);
}
