import { html } from "hono/html";
import type { Artifact, Step } from "../../contract/run.ts";
import { artifactsView } from "./artifactsView.ts";
import type { Html } from "./html.ts";
import type { LogLine } from "./logLines.ts";
import { logView } from "./logView.ts";
import { statusView } from "./statusView.ts";
import { tookView } from "./timeView.ts";

export interface StepFacts {
  readonly runId: string;
  readonly step: Step;
  readonly index: number;
  readonly lines: readonly LogLine[];
  readonly artifacts: readonly Artifact[];
  readonly now: number;
}

/** One step of a run: how it went, what it said, what it kept. */
export function stepView({ runId, step, index, lines, artifacts, now }: StepFacts): Html {
  // Of a step that went well one seldom wants to know more.
  const isOpen = step.status !== "succeeded";
  return html`<li id="step-${index}" class="step">
<div class="title">
<h3><bdi>${step.name}</bdi> <span class="quiet">${step.type}</span></h3>
<p class="state"><span class="quiet">${tookView(step, now)}</span>${statusView(step.status)}</p>
</div>
${step.message === undefined ? "" : html`<p class="message" id="message-${index}">${step.message}</p>`}
${logView({ index, name: step.name }, lines, isOpen)}
${artifactsView(runId, step.name, artifacts)}
</li>`;
}
