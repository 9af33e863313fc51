import { html } from "hono/html";
import type { ServedRun } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import { cancelView } from "./cancelView.ts";
import type { Html } from "./html.ts";
import { keyView } from "./keyView.ts";
import type { LogLine } from "./logLines.ts";
import { statusView } from "./statusView.ts";
import { stepView } from "./stepView.ts";
import { timeView, tookView } from "./timeView.ts";

export interface RunFacts {
  readonly run: ServedRun;
  readonly caller: Caller;
  readonly now: number;
  /** The end of its log. */
  readonly lines: readonly LogLine[];
  /** When its log and what its steps kept were removed, in milliseconds since 1970; undefined while they are there. */
  readonly removedAt: number | undefined;
  /** Whether the log begins with the first of the lines. */
  readonly isWhole: boolean;
}

/** The page of one run: what it is, how it stands, its steps. */
export function runView(facts: RunFacts): Html {
  const { run, caller, now } = facts;
  return html`<nav class="trail" aria-label="Where this page is"><a href="/app/runs">← Runs</a></nav>
<div class="title">
<h1><bdi>${run.pipeline}</bdi></h1>
<div class="state" id="state" data-run="${run.pipeline}">${statusView(run.status)}${cancelView(run, caller, `/app/runs/${run.runId}`)}</div>
</div>
${run.reason === undefined ? "" : html`<p class="reason">${reasonText(run.status, run.reason)}</p>`}
<dl class="facts">
${fact("Started", timeView(run.createdAt))}
${fact(run.stoppedAt === undefined ? "Running for" : "Took", tookView({ startedAt: run.createdAt, stoppedAt: run.stoppedAt }, now))}
${fact("Time limit", html`${run.timeLimitSeconds} s`)}
${fact("Started by", keyView(run.actor, caller.keyId))}
${fact("Project", html`<bdi>${run.project}</bdi>`)}
${fact("Runner", html`<bdi>${run.runner}</bdi>`)}
<div class="long"><dt>Run</dt><dd><code>${run.runId}</code></dd></div>
</dl>
${stepsView(facts)}`;
}

function stepsView({ run, now, lines, isWhole, removedAt }: RunFacts): Html {
  const { runId, steps = [], artifacts = [] } = run;
  if (steps.length === 0) {
    return html`<section id="steps" aria-labelledby="steps-title">
<h2 id="steps-title">Steps</h2>
<p class="quiet">${run.stoppedAt === undefined ? "No step has begun yet." : "No step began."}</p>
</section>`;
  }
  const items = steps.map((step, index) =>
    stepView({
      runId,
      step,
      index,
      now,
      lines: lines.filter(({ stepIndex }) => stepIndex === index),
      // What was removed stays in the list of what there was.
      artifacts: removedAt === undefined ? artifacts.filter(({ stepIndex }) => stepIndex === index) : [],
    }),
  );
  return html`<section id="steps" aria-labelledby="steps-title">
<div class="title">
<h2 id="steps-title">Steps</h2>
${lines.length === 0 ? "" : html`<p>${isWhole ? "" : html`<span class="quiet">Only the last ${lines.length} lines are shown here.</span> `}<a href="/app/runs/${runId}/log.txt">The whole log</a></p>`}
</div>
${removedAt === undefined ? "" : html`<p class="quiet">The log and what the steps kept were removed at ${timeView(new Date(removedAt).toISOString())}: they are kept for a limited time.</p>`}
<ol class="steps">${items}</ol>
</section>`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** A failure begins with its step's name, as somebody wrote it. Any other reason stands in the middle of a sentence elsewhere. */
function reasonText(status: string, reason: string): string {
  if (status === "failed") return reason;
  const first = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
