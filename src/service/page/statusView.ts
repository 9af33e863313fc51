import { html, raw } from "hono/html";
import type { Html } from "./html.ts";

interface Look {
  readonly word: string;
  /** The name of a set of colours in page.css. */
  readonly tone: "busy" | "good" | "bad" | "still";
  /** What is drawn inside a ring of 16 by 16; each shape is another, so that none is told by its colour alone. */
  readonly shape: string;
}

const looks: Readonly<Record<string, Look>> = {
  running: {
    word: "Running",
    tone: "busy",
    shape: '<path d="M6.5 5.2v5.6L11 8z" fill="currentColor" stroke="none"/>',
  },
  cancelling: {
    word: "Cancelling",
    tone: "busy",
    shape: '<path d="M5.8 5.8h4.4v4.4H5.8z" fill="currentColor" stroke="none"/>',
  },
  succeeded: { word: "Succeeded", tone: "good", shape: '<path d="m5 8.2 2.1 2.1L11 6"/>' },
  failed: { word: "Failed", tone: "bad", shape: '<path d="m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6"/>' },
  cancelled: { word: "Cancelled", tone: "still", shape: '<path d="M3.6 12.4 12.4 3.6"/>' },
  "timed-out": { word: "Timed out", tone: "bad", shape: '<path d="M8 4.6V8l2.3 1.6"/>' },
  lost: {
    word: "Lost",
    tone: "bad",
    shape: '<path d="M6.3 6.4a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2"/><path d="M8 11.2v.1"/>',
  },
};

/** A status by its word and a picture; one that this version doesn't know as it is (contract: "Endpoints"). */
export function statusView(status: string): Html {
  const look: Look = looks[status] ?? { word: status, tone: "still", shape: '<path d="M8 7.9v.2"/>' };
  return html`<span class="status ${look.tone}" data-status="${status}">${icon(look)}${look.word}</span>`;
}

/** Raw, since all of it stands above. */
function icon({ shape }: Look): Html {
  return raw(
    `<svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><circle cx="8" cy="8" r="6.4"/>${shape}</svg>`,
  );
}
