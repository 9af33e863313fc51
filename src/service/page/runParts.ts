import { html, raw } from "hono/html";
import { mayChangeRuns } from "../../contract/roles.ts";
import type { ServedRun } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { duration, wholeSeconds } from "../../contract/time.ts";
import type { Caller } from "../store/keys.ts";
import type { Html } from "./layout.ts";

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

/** An instant in UTC; the page's script shows it in the reader's own zone. */
export function timeView(instant: string): Html {
  return html`<time datetime="${instant}">${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC</time>`;
}

/** How long something took, or has taken by now: then the script counts on. Empty for what never began. */
export function tookView(
  span: { readonly startedAt?: string | undefined; readonly stoppedAt?: string | undefined },
  now: number,
): Html {
  if (span.startedAt === undefined) return html``;
  const began = Date.parse(span.startedAt);
  if (span.stoppedAt !== undefined) return html`${duration(Date.parse(span.stoppedAt) - began)}`;
  return html`<span data-since="${began}">${wholeSeconds(now - began)}</span> so far`;
}

/** The seconds that are left; the script counts on. @param endsAt milliseconds since 1970. */
export function leftView(endsAt: number, now: number): Html {
  return html`<span data-until="${endsAt}">${wholeSeconds(endsAt - now)}</span>`;
}

/** A key by its id, of which the end tells most: the beginning is the time it was made. */
export function keyView(keyId: string, own: string): Html {
  if (keyId === own) return html`<span title="${keyId}">you</span>`;
  const short = keyId.length > 14 ? `${keyId.slice(0, 4)}…${keyId.slice(-6)}` : keyId;
  return html`<code title="${keyId}">${short}</code>`;
}

/** The button that cancels a run: only while it can be cancelled, and only for who may. @param back the page it is on. */
export function cancelView(run: ServedRun, caller: Caller, back: string): Html {
  if (!isActive(run) || run.status === "cancelling" || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/${run.runId}/cancel">
<input type="hidden" name="back" value="${back}">
<button>Cancel<span class="unseen"> the run of ${run.pipeline}</span></button>
</form>`;
}

/** The button that cancels every run in work of the caller's own key; `count` of them can be. */
export function cancelMineView(count: number, caller: Caller, back: string): Html {
  if (count === 0 || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/cancel-mine">
<input type="hidden" name="back" value="${back}">
<button>Cancel Mine (${count})<span class="unseen">: every run in work that your key started</span></button>
</form>`;
}
