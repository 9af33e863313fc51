import type { Terminal } from "./terminal.ts";

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
