import { randomUUID } from "node:crypto";
import { html, raw } from "hono/html";
import { mayChangeRuns } from "../../contract/keys.ts";
import type { LogLine } from "../../contract/log.ts";
import type { ServedRun } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { stepToResumeAt } from "../../pipeline/stepToResumeAt.ts";
import { duration, elapsed } from "../../text/time.ts";
import { placeOnAxis, stepNotes, type Timeline, type TimelineBar, timelineOf } from "../../text/timeline.ts";
import type { Caller } from "../store/keys.ts";
import { type Html, marked } from "./layout.ts";
import { styledTexts } from "./pageLog.ts";

interface StatusStyle {
  readonly word: string;
  /** The name of a set of colours in page.css. */
  readonly tone: "busy" | "good" | "bad" | "still";
  /** An SVG shape inside a circle of 16 by 16. Each status has its own, so that none is told by colour alone. */
  readonly shape: string;
}

const statusStyles: Readonly<Record<string, StatusStyle>> = {
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
  stopped: { word: "Stopped", tone: "still", shape: '<path d="M5.8 5.8h4.4v4.4H5.8z"/>' },
  skipped: { word: "Skipped", tone: "still", shape: '<path d="M4.6 8h6.8"/>' },
  "not-reached": { word: "Not reached", tone: "still", shape: '<path d="M5 8h.1M8 8h.1m2.9 0h.1"/>' },
  "timed-out": { word: "Timed out", tone: "bad", shape: '<path d="M8 4.6V8l2.3 1.6"/>' },
  lost: {
    word: "Lost",
    tone: "bad",
    shape: '<path d="M6.3 6.4a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2"/><path d="M8 11.2v.1"/>',
  },
};

/** A status as a word; one that this version doesn't know is returned as it is. */
export function statusWord(status: string): string {
  return statusStyles[status]?.word ?? status;
}

/** A status as a word and an icon. A status that this version doesn't know is shown as it is (contract: "Endpoints"). */
export function statusView(status: string): Html {
  const style: StatusStyle = statusStyles[status] ?? {
    word: status,
    tone: "still",
    shape: '<path d="M8 7.9v.2"/>',
  };
  return html`<span class="status ${style.tone}" data-status="${status}">${icon(style)}${style.word}</span>`;
}

/** `raw` is safe: every shape is a constant of this file. */
function icon({ shape }: StatusStyle): Html {
  return raw(
    `<svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><circle cx="8" cy="8" r="6.4"/>${shape}</svg>`,
  );
}

/** An instant in UTC; the page's script converts it to the reader's time zone. */
export function timeView(instant: string): Html {
  return html`<time datetime="${instant}">${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC</time>`;
}

/** An estimated instant in UTC, without seconds; the script converts it like any other. */
export function aboutView(instant: string): Html {
  return html`<time datetime="${instant}" data-about>${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC</time>`;
}

/** How long something took, or has taken so far; the script keeps that current. Empty for what never started. */
export function tookView(
  span: { readonly startedAt?: string | undefined; readonly stoppedAt?: string | undefined },
  now: number,
): Html {
  if (span.startedAt === undefined) return html``;
  const began = Date.parse(span.startedAt);
  if (span.stoppedAt !== undefined) return html`${duration(Date.parse(span.stoppedAt) - began)}`;
  return html`<span data-since="${began}">${elapsed(now - began)}</span> so far`;
}

/** The seconds left, which the script keeps current. @param endsAt milliseconds since 1970. */
export function leftView(endsAt: number, now: number): Html {
  return html`<span data-until="${endsAt}">${elapsed(endsAt - now)}</span>`;
}

/** A key's name or, without one, its id, shortened in the middle: ids begin with their time, so the end tells keys apart. */
export function keyView(keyId: string, name: string | undefined, own: string): Html {
  if (keyId === own) return html`<span title="${keyId}">you</span>`;
  if (name !== undefined) return html`<bdi title="${keyId}">${name}</bdi>`;
  const short = keyId.length > 14 ? `${keyId.slice(0, 4)}…${keyId.slice(-6)}` : keyId;
  return html`<code title="${keyId}">${short}</code>`;
}

/** Who started a run: a key, and the coding agent that used it. */
export function starterView(
  { actor, actorName, agent }: Pick<ServedRun, "actor" | "actorName" | "agent">,
  own: string,
): Html {
  const key = keyView(actor, actorName, own);
  return agent === undefined ? key : html`${key}, through the agent <bdi>${agent}</bdi>`;
}

/** The button that cancels a run, if the run can be cancelled and the caller may. @param back the page it is on. */
export function cancelView(run: ServedRun, caller: Caller, back: string): Html {
  if (!isActive(run) || run.status === "cancelling" || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/${run.runId}/cancel">
<input type="hidden" name="back" value="${back}">
<button>Cancel<span class="unseen"> the run of ${run.pipeline}</span></button>
</form>`;
}

/**
 * The button that starts an ended run's pipeline again, if the caller may; for a run with inputs, the link to the form. The
 * new run is the caller's.
 */
export function againView(run: ServedRun, caller: Caller): Html {
  if (isActive(run) || !mayChangeRuns(caller.role)) return html``;
  if (run.inputs !== undefined) {
    return html`<a class="button" href="/app/runs/${run.runId}/again">Run Again…<span class="unseen"> ${run.pipeline}</span></a>`;
  }
  return html`<form method="post" action="/app/runs/${run.runId}/again" data-leaves>
<input type="hidden" name="request" value="${randomUUID()}">
<button title="Starts ${run.pipeline} again as its file is now, as a run of yours">Run Again<span class="unseen"> ${run.pipeline}</span></button>
</form>`;
}

/** The button that starts an ended run's pipeline at its failed step, if the caller may. @param failed see `stepToResumeAt`. */
export function fromStepView(
  run: ServedRun,
  failed: ReturnType<typeof stepToResumeAt>,
  caller: Caller,
): Html {
  if (failed === undefined || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/${run.runId}/again" data-leaves>
<input type="hidden" name="request" value="${randomUUID()}">
<input type="hidden" name="from" value="${failed.fromStep}">
<button title="A new run, one of the day's, without the steps before this one${run.inputs === undefined ? "" : ", with the same inputs"}">Run From Here<span class="unseen"> at ${failed.step.name}</span></button>
</form>`;
}

/** The button that cancels all active runs of the caller's key. @param count how many can be cancelled. */
export function cancelMineView(count: number, caller: Caller, back: string): Html {
  if (count === 0 || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/cancel-mine">
<input type="hidden" name="back" value="${back}">
<button>Cancel Mine (${count})<span class="unseen">: every active run that your key started</span></button>
</form>`;
}

/** A step's message: a line in words, and below it what a program printed or a page contains. */
export function messageView(message: string): Html {
  const [first = "", ...rest] = message.split("\n");
  return html`${marked(first)}${rest.length === 0 ? "" : html`<span class="output">${rest.join("\n")}</span>`}`;
}

/** Values by their names: a text as it is, any other value as JSON. */
export function valuesView(values: Readonly<Record<string, unknown>>): Html {
  return html`<dl class="values">${Object.entries(values).map(
    ([name, value]) =>
      html`<div><dt><code>${name}</code></dt><dd>${typeof value === "string" ? value : JSON.stringify(value, undefined, 2)}</dd></div>`,
  )}</dl>`;
}

/** A line of a log. @param id of its element; none when left out. */
export function lineView({ stream, text }: Pick<LogLine, "stream" | "text">, id?: string): Html {
  const { kind, word } = marks[stream] ?? { kind: "other", word: stream };
  return html`<div${id === undefined ? "" : html` id="${id}"`} class="line ${kind}"><span class="mark">${word}</span><span class="said">${styledTexts(
    text,
  ).map((piece) =>
    piece.classes === "" ? piece.text : html`<span class="${piece.classes}">${piece.text}</span>`,
  )}</span></div>`;
}

/** Streams differ by a word and not by colour alone. Most lines are standard output, which has none. */
const marks: Readonly<Record<string, { readonly kind: string; readonly word: string }>> = {
  stdout: { kind: "out", word: "" },
  stderr: { kind: "err", word: "err" },
  note: { kind: "note", word: "note" },
};

/** The wait for a slot and the steps as bars on one axis of time. The script moves those of an active run. */
export function timelineView(run: ServedRun, now: number): Html {
  const timeline = timelineOf(run);
  if (timeline === undefined) return html``;
  return html`<section id="timeline" aria-labelledby="timeline-title">
<div class="title">
<h2 id="timeline-title">Timeline</h2>
<p class="quiet">${lengthView(timeline, now)} in all</p>
</div>
${barsView(timeline, now)}
</section>`;
}

export function barsView(timeline: Timeline, now: number): Html {
  const { from, to, bars } = timeline;
  return html`<ol class="timeline"${to === undefined ? html` data-axis="${from}"` : ""}>${bars.map(
    (bar) => html`<li>
<span class="name">${bar.step === undefined ? "Wait for a slot" : html`<bdi>${bar.step.name}</bdi>${notesView(bar.step)}`}</span>
${barView(bar, timeline, now)}
<span class="number quiet">${lengthView(bar, now)}</span>
</li>`,
  )}</ol>`;
}

/** How long a part of the timeline took, or has taken so far. */
export function lengthView({ from, to }: Pick<TimelineBar, "from" | "to">, now: number): Html {
  if (to !== undefined) return html`${duration(to - from)}`;
  return html`<span data-since="${from}">${elapsed(now - from)}</span>`;
}

/** Hidden from screen readers, since the numbers stand beside it; `raw` is safe, as it holds numbers and constants only. */
function barView(bar: TimelineBar, axis: Timeline, now: number): Html {
  const { start, length } = placeOnAxis(bar, axis, now);
  const end = bar.to === undefined ? "" : ` data-to="${bar.to}"`;
  return raw(
    `<svg class="track" aria-hidden="true" focusable="false"><rect class="${toneOf(bar)}" data-from="${bar.from}"${end} x="${start}%" width="${length}%" height="100%" rx="2"/></svg>`,
  );
}

function toneOf({ step, to }: TimelineBar): string {
  if (step === undefined) return "wait";
  if (to === undefined) return "busy";
  if (step.status === "succeeded") return "good";
  return stillStatuses.has(step.status) ? "still" : "bad";
}

const stillStatuses: ReadonlySet<string> = new Set(["cancelled", "stopped", "skipped", "not-reached"]);

function notesView(step: NonNullable<TimelineBar["step"]>): Html {
  const notes = stepNotes(step);
  return notes.length === 0 ? html`` : html` <span class="quiet">${notes.join(", ")}</span>`;
}
