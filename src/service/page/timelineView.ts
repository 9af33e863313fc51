import { html, raw } from "hono/html";
import type { ServedRun } from "../../contract/run.ts";
import { duration, elapsed } from "../../text/time.ts";
import { placeOnAxis, stepNotes, type Timeline, type TimelineBar, timelineOf } from "../../text/timeline.ts";
import type { Html } from "./layout.ts";

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
