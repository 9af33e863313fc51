import { html } from "hono/html";
import type { Step } from "../../contract/run.ts";
import type { Html } from "./html.ts";
import { statusView } from "./statusView.ts";
import { tookView } from "./timeView.ts";

/** One step of a run. */
export function stepView(step: Step, index: number, now: number): Html {
  return html`<li id="step-${index}" class="step">
<div class="title">
<h3><bdi>${step.name}</bdi> <span class="quiet">${step.type}</span></h3>
<p class="state"><span class="quiet">${tookView(step, now)}</span>${statusView(step.status)}</p>
</div>
${step.message === undefined ? "" : html`<p class="message">${step.message}</p>`}
</li>`;
}
