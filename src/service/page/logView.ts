import { html } from "hono/html";
import { styledTexts } from "./ansi.ts";
import type { Html } from "./html.ts";
import type { LogLine } from "./logLines.ts";

/** A step's log, or the end of it. @param isOpen whether it is unfolded at first; the reader's own choice stays. */
export function logView(
  step: { readonly index: number; readonly name: string },
  lines: readonly LogLine[],
  isOpen: boolean,
): Html {
  if (lines.length === 0) return html``;
  const count = lines.length === 1 ? "1 line" : `${lines.length} lines`;
  return html`<details class="log" id="log-${step.index}"${isOpen ? html` open` : ""}>
<summary>Log <span class="quiet">${count}</span></summary>
<div class="lines" role="group" aria-label="Log of ${step.name}" tabindex="0" data-sticks="">${lines.map(lineView)}</div>
</details>`;
}

function lineView({ id, stream, text }: LogLine): Html {
  const mark = marks[stream] ?? { kind: "other", word: stream };
  return html`<div id="${id}" class="line ${mark.kind}"><span class="mark">${mark.word}</span><span class="said">${styledTexts(
    text,
  ).map((piece) =>
    piece.classes === "" ? piece.text : html`<span class="${piece.classes}">${piece.text}</span>`,
  )}</span></div>`;
}

/** Told apart by a word too, not by colour alone. Most lines are of standard output, which needs none. */
const marks: Readonly<Record<string, { readonly kind: string; readonly word: string }>> = {
  stdout: { kind: "out", word: "" },
  stderr: { kind: "err", word: "err" },
  note: { kind: "note", word: "note" },
};
