import { html, raw } from "hono/html";
import { runCommand } from "../../contract/refusal.ts";
import { failureInReason, type Run, type RunStep, startedBy } from "../../contract/run.ts";
import { type Html, marked } from "../../service/page/layout.ts";
import {
  barsView,
  lengthView,
  lineView,
  messageView,
  statusView,
  statusWord,
  timeView,
  tookView,
  valuesView,
} from "../../service/page/runParts.ts";
import { counted } from "../../text/counted.ts";
import { duration } from "../../text/time.ts";
import { stepNotes, timelineOf } from "../../text/timeline.ts";
import type { ReportedRun, StepLog } from "./reportedRuns.ts";

/**
 * Runs as one self-contained HTML file: no script, no other file, no network.
 * @param style the page's style sheet, which the report includes.
 * @param now milliseconds since 1970.
 */
export async function htmlReport(runs: readonly ReportedRun[], style: string, now: number): Promise<string> {
  const title = runs
    .map(
      ({ pipeline, run }) => `${pipeline} ${run ? statusWord(run.status).toLowerCase() : "without a result"}`,
    )
    .join(", ");
  const text = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Pipeline Runs</title>
<style>${raw(style)}${raw(ownStyle)}</style>
</head>
<body>
<header class="top"><h1 class="brand">${runs.length === 1 ? "Report of a run" : `Report of ${runs.length} runs`}</h1><p class="reader quiet">Made ${timeView(new Date(now).toISOString())}</p></header>
<main>
${runs.length > 1 ? contentsView(runs, now) : ""}
${runs.map((reported, index) => runView(reported, index, now))}
</main>
</body>
</html>`;
  return String(text);
}

/** The differences from the page: a heading for each run, reasons as sentences, and complete logs on paper. */
const ownStyle = `
.top h1{font-size:1rem;letter-spacing:0}
.run+.run{margin-top:3.5rem;padding-top:2rem;border-top:1px solid var(--line)}
.run>.title h2{font-size:1.75rem;font-weight:650;line-height:1.2;letter-spacing:-.015em}
.run h3{font-size:1.0625rem;font-weight:650}
.run h4{margin:0;font-size:1rem;font-weight:600}
.contents{display:grid;gap:.375rem;margin:0 0 2rem;padding:0;list-style:none}
.contents li{display:flex;gap:1rem;align-items:center}
.values dd{max-height:none}
.why::first-letter{text-transform:uppercase}
@media print{.lines{max-height:none}}
`;

function stateView(run: Run | undefined): Html {
  return run === undefined ? html`<span class="status bad">No result</span>` : statusView(run.status);
}

function contentsView(runs: readonly ReportedRun[], now: number): Html {
  return html`<nav aria-label="The runs"><ol class="contents">${runs.map(
    ({ pipeline, run }, index) =>
      html`<li><a href="#run-${index}"><bdi>${pipeline}</bdi></a>${stateView(run)}<span class="quiet">${tookView({ startedAt: run?.createdAt, stoppedAt: run?.stoppedAt }, now)}</span></li>`,
  )}</ol></nav>`;
}

function runView(reported: ReportedRun, index: number, now: number): Html {
  const { pipeline, run, problem } = reported;
  const id = `run-${index}`;
  return html`<article class="run" id="${id}" aria-labelledby="${id}-title">
<div class="title">
<h2 id="${id}-title"><bdi>${pipeline}</bdi></h2>
<div class="state">${stateView(run)}</div>
</div>
${problem === undefined ? "" : reasonView(run, problem, id)}
${run === undefined ? "" : html`${factsView(run, now)}${valuesPart("Inputs", run.inputs)}${valuesPart("Outputs", run.outputs)}${timelineView(run, now)}${stepsView(reported, run, id, now)}`}
</article>`;
}

/** Why the run ended; a failed step's message is shown only here, after a link to the step. */
function reasonView(run: Run | undefined, problem: string, id: string): Html {
  const failed = run && failureInReason(run);
  if (failed === undefined) {
    const kind = run?.status === "failed" ? "reason" : "reason why";
    return html`<p class="${kind}">${messageView(problem)}</p>`;
  }
  const { index, step } = failed;
  return html`<p class="reason"><a href="#${id}-step-${index}"><bdi>${step.name}</bdi></a>: ${messageView(step.message ?? "")}</p>`;
}

function factsView(run: Run, now: number): Html {
  const { runId, project, runner, agent, createdAt, stoppedAt, timeLimitSeconds } = run;
  const text = (value: string | undefined) => value && html`<bdi>${value}</bdi>`;
  const facts: [string, Html | string | undefined][] = [
    ["Started", createdAt && timeView(createdAt)],
    ["Took", createdAt && tookView({ startedAt: createdAt, stoppedAt }, now)],
    ["Time limit", timeLimitSeconds === undefined ? undefined : duration(timeLimitSeconds * 1000)],
    ["Started by", text(startedBy(run))],
    ["Agent", text(agent)],
    ["Project", text(project)],
    ["Runner", text(runner)],
    ["Run", html`<code>${runId}</code>`],
  ];
  return html`<dl class="facts">${facts.map(([name, value]) =>
    value
      ? html`<div class="${name === "Run" || name === "Started by" ? "long" : ""}"><dt>${name}</dt><dd>${value}</dd></div>`
      : "",
  )}</dl>`;
}

function valuesPart(title: string, values: Run["outputs"] = {}): Html {
  return Object.keys(values).length === 0
    ? html``
    : html`<section><h3>${title}</h3>
${valuesView(values)}</section>`;
}

function timelineView(run: Run, now: number): Html {
  const timeline = timelineOf(run);
  if (timeline === undefined) return html``;
  return html`<section><div class="title"><h3>Timeline</h3><p class="quiet">${lengthView(timeline, now)} in all</p></div>
${barsView(timeline, now)}</section>`;
}

function stepsView({ logs }: ReportedRun, run: Run, id: string, now: number): Html {
  const { steps = [], artifacts = [] } = run;
  if (steps.length === 0) return html`<section><h3>Steps</h3><p class="quiet">No step began.</p></section>`;
  const told = failureInReason(run)?.index;
  const items = steps.map((step, index) => {
    const kept = artifacts.filter(({ stepIndex }) => stepIndex === index).map(({ name }) => name);
    return html`<li id="${id}-step-${index}" class="step">
<div class="title">
<h4><bdi>${step.name}</bdi> <span class="quiet">${[step.type, ...stepNotes(step)].join(", ")}</span></h4>
<div class="state"><span class="quiet">${tookView(step, now)}</span>${statusView(step.status)}</div>
</div>
${step.message === undefined || told === index ? "" : html`<p class="message">${messageView(step.message)}</p>`}
${logView(step, logs.get(index), told === index)}
${kept.length === 0 ? "" : html`<p class="message quiet">Kept at the service: <bdi>${kept.join(", ")}</bdi></p>`}
</li>`;
  });
  const where =
    artifacts.length === 0
      ? ""
      : html`<p class="quiet">What steps kept is not in this file: ${marked(`\`${runCommand("page", run.runId)}\``)} shows it at the service, and ${marked(`\`${runCommand("download", run.runId)}\``)} saves it.</p>`;
  return html`<section><h3>Steps</h3>${where}<ol class="steps">${items}</ol></section>`;
}

/** @param isTold whether the top of the report already says why the step failed. */
function logView({ name, status }: RunStep, log: StepLog | undefined, isTold: boolean): Html {
  if (log === undefined) return html``;
  const { lines, leftOut } = log;
  const count = counted(lines.length, "line");
  const title = leftOut === 0 ? count : `the last ${count}; ${leftOut} before are left out`;
  return html`<details class="log"${status === "succeeded" || isTold ? "" : raw(" open")}>
<summary>Log <span class="quiet">${title}</span></summary>
<div class="lines" role="group" aria-label="Log of ${name}" tabindex="0">${lines.map((line) => lineView(line))}</div>
</details>`;
}
