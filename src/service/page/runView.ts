import { html } from "hono/html";
import type { Run } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import { cancelView } from "./cancelView.ts";
import type { Html } from "./html.ts";
import { keyView } from "./keyView.ts";
import { statusView } from "./statusView.ts";
import { stepView } from "./stepView.ts";
import { timeView, tookView } from "./timeView.ts";

export interface RunFacts {
  readonly run: Run;
  readonly caller: Caller;
  readonly now: number;
}

/** The page of one run: what it is, how it stands, its steps. */
export function runView(facts: RunFacts): Html {
  const { run, caller, now } = facts;
  const steps = run.steps ?? [];
  return html`<nav class="trail" aria-label="Where this page is"><a href="/app/runs">← Runs</a></nav>
<div class="title">
<h1><bdi>${run.pipeline}</bdi></h1>
<div class="state" id="state" data-run="${run.pipeline}">${statusView(run.status)}${cancelView(run, caller, `/app/runs/${run.runId}`)}</div>
</div>
${run.reason === undefined ? "" : html`<p class="reason">${sentence(run.reason)}</p>`}
<dl class="facts">
${fact("Started", timeView(run.createdAt))}
${fact("Took", tookView({ startedAt: run.createdAt, stoppedAt: run.stoppedAt }, now))}
${fact("Time limit", html`${run.timeLimitSeconds} s`)}
${fact("Started by", keyView(run.actor, caller.keyId))}
${fact("Project", html`<bdi>${run.project}</bdi>`)}
${fact("Runner", html`<bdi>${run.runner}</bdi>`)}
${fact("Run", html`<code>${run.runId}</code>`)}
</dl>
<section aria-labelledby="steps-title">
<h2 id="steps-title">Steps</h2>
${
  steps.length === 0
    ? html`<p class="quiet">${run.stoppedAt === undefined ? "No step has begun yet." : "No step began."}</p>`
    : html`<ol class="steps">${steps.map((step, index) => stepView(step, index, now))}</ol>`
}
</section>`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** A reason stands in the middle of a sentence elsewhere. */
function sentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
