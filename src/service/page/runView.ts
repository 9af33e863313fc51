import { html } from "hono/html";
import type { LogLine } from "../../contract/log.ts";
import {
  type Artifact,
  type Changes,
  failureInReason,
  type RunStep,
  reasonText,
  type ServedRun,
} from "../../contract/run.ts";
import type { stepToResumeAt } from "../../pipeline/stepToResumeAt.ts";
import { changeNotes, commitText } from "../../text/changes.ts";
import { stripEscapeSequences } from "../../text/escapeSequences.ts";
import { sizeText } from "../../text/size.ts";
import { duration } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import type { Caller } from "../store/keys.ts";
import { type Html, marked } from "./layout.ts";
import {
  againView,
  cancelView,
  fromStepView,
  lineView,
  messageView,
  starterView,
  statusView,
  timelineView,
  timeView,
  tookView,
  valuesView,
} from "./runParts.ts";

interface RunFacts {
  readonly run: ServedRun;
  readonly caller: Caller;
  readonly now: number;
  readonly lines: readonly LogLine[];
  /** When its log and artifacts were removed, in milliseconds since 1970; undefined while they exist. */
  readonly removedAt: number | undefined;
  readonly resumeAt: ReturnType<typeof stepToResumeAt>;
  readonly hasPipeline: boolean;
  /** Undefined for a run that is active or has succeeded. */
  readonly changes: Changes | undefined;
  /** Whether the log begins with the first of the lines. */
  readonly isWhole: boolean;
}

/** The page of one run: its status, its facts, its steps with their logs and artifacts. */
export function runView(facts: RunFacts): Html {
  const { run, caller, now } = facts;
  return html`<nav class="trail" aria-label="Where this page is"><a href="/app/runs">← Runs</a></nav>
<div class="title">
<h1><bdi>${run.pipeline}</bdi></h1>
<div class="state" id="state" data-run="${run.pipeline}">${statusView(run.status)}${cancelView(run, caller, `/app/runs/${run.runId}`)}${againView(run, caller)}</div>
</div>
${reasonView(run, caller)}
<dl class="facts">
${fact("Started", timeView(run.createdAt))}
${fact("Took", tookView({ startedAt: run.createdAt, stoppedAt: run.stoppedAt }, now))}
${fact("Time limit", html`${duration(run.timeLimitSeconds * 1000)}`)}
${fact("Started by", starterView(run, caller.keyId))}
${fact("Project", html`<bdi>${run.project}</bdi>`)}
${fact("Runner", html`<bdi>${run.runner}</bdi>`)}
${run.commit === undefined ? "" : fact("Commit", html`<bdi>${commitText(run.commit)}</bdi>`)}
${facts.hasPipeline ? fact("Pipeline file", html`<a href="/app/runs/${run.runId}/pipeline.txt">As it ran</a>`) : ""}
<div class="long"><dt>Run</dt><dd><code>${run.runId}</code></dd></div>
</dl>
${valuesPart("Inputs", run.inputs)}
${valuesPart("Outputs", run.outputs)}
${timelineView(run, now)}
${changesView(facts)}
${stepsView(facts)}`;
}

function changesView({ run, changes }: RunFacts): Html {
  if (changes === undefined) return html``;
  const { lastPassed, diffs = {} } = changes;
  const files = Object.entries(diffs).map(
    ([path, diff]) => html`<div><dt><code>${path}</code></dt><dd class="code">${diff}</dd></div>`,
  );
  return html`<section id="changes" aria-labelledby="changes-title">
<h2 id="changes-title">Changed since it last succeeded</h2>
${lastPassed === undefined ? "" : html`<p class="quiet">That was <a href="/app/runs/${lastPassed.runId}">the run</a> of ${timeView(lastPassed.createdAt)}.</p>`}
${changeNotes(run, changes).map((note) => html`<p>${marked(note)}</p>`)}
${files.length === 0 ? "" : html`<dl class="values">${files}</dl>`}
</section>`;
}

function stepsView({ run, caller, now, lines, isWhole, removedAt, resumeAt }: RunFacts): Html {
  const { runId, steps = [], artifacts = [] } = run;
  if (steps.length === 0) {
    return html`<section id="steps" aria-labelledby="steps-title">
<h2 id="steps-title">Steps</h2>
<p class="quiet">${run.stoppedAt === undefined ? "No step has begun yet." : "No step began."}</p>
</section>`;
  }
  const told = failureInReason(run)?.index;
  const items = steps.map((step, index) =>
    stepView({
      run,
      caller,
      step,
      index,
      now,
      resumeAt: resumeAt?.index === index ? resumeAt : undefined,
      isTold: index === told,
      lines: lines.filter(({ stepIndex }) => stepIndex === index),
      // The run still lists artifacts that were removed.
      artifacts: removedAt === undefined ? artifacts.filter(({ stepIndex }) => stepIndex === index) : [],
    }),
  );
  return html`<section id="steps" aria-labelledby="steps-title">
<div class="title">
<h2 id="steps-title">Steps</h2>
${lines.length === 0 ? "" : html`<p>${isWhole ? "" : html`<span class="quiet">Only the last ${lines.length} lines are shown here.</span> `}<a href="/app/runs/${runId}/log.txt">The whole log</a></p>`}
</div>
${lines.length === 0 || run.stoppedAt === undefined ? "" : html`<form class="find" role="search" action="/app/runs/${runId}/log.txt"><label for="find">Find in the log</label> <input id="find" name="find" type="search" required maxlength="200" autocomplete="off"> <button>Find</button></form>`}
${removedAt === undefined ? "" : html`<p class="quiet">The log and the artifacts were removed at ${timeView(new Date(removedAt).toISOString())}: they are kept for a limited time.</p>`}
<ol class="steps">${items}</ol>
</section>`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function valuesPart(title: string, values: ServedRun["outputs"] = {}): Html {
  if (Object.keys(values).length === 0) return html``;
  const id = title.toLowerCase();
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${valuesView(values)}
</section>`;
}

/**
 * Why the run ended as it did: the page's one place for it. A failure begins with the name of its step, which leads there;
 * any other reason becomes a sentence.
 */
function reasonView(run: ServedRun, { keyId }: Caller): Html {
  const { reason, status } = run;
  if (reason === undefined) return html``;
  const failed = failureInReason(run);
  if (failed !== undefined) {
    const { name, message } = failed.step;
    return html`<p class="reason"><a href="#step-${failed.index}"><bdi>${name}</bdi></a>: ${messageView(message ?? "")}</p>`;
  }
  return html`<p class="reason">${messageView(status === "failed" ? reason : sentence(reasonText(run, keyId) ?? reason))}</p>`;
}

function sentence(reason: string): string {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** `resumeAt` is set only where a new run may begin with this step; `lines` are the step's own. */
interface StepFacts extends Pick<RunFacts, "run" | "caller" | "now" | "resumeAt" | "lines"> {
  readonly step: RunStep;
  readonly index: number;
  readonly artifacts: readonly Artifact[];
  /** Whether the top of the page says why it failed. */
  readonly isTold: boolean;
}

function stepView({ run, caller, resumeAt, step, index, lines, artifacts, now, isTold }: StepFacts): Html {
  const { message } = step;
  // The log of a step that succeeded is seldom wanted, and the end of a failed step's may be at the top already.
  const isOpen = step.status !== "succeeded" && !(isTold && endsWith(lines, message ?? ""));
  return html`<li id="step-${index}" class="step">
<div class="title">
<h3><bdi>${step.name}</bdi> <span class="quiet">${[step.type, ...stepNotes(step)].join(", ")}</span></h3>
<div class="state"><span class="quiet">${tookView(step, now)}</span>${statusView(step.status)}${fromStepView(run, resumeAt, caller)}</div>
</div>
${message === undefined || isTold ? "" : html`<p class="message" id="message-${index}">${messageView(message)}</p>`}
${logView({ index, name: step.name }, lines, isOpen)}
${artifactsView(run.runId, step.name, artifacts)}
</li>`;
}

/** Whether the last line of a message of several lines is also in the log, as when a program failed. */
function endsWith(lines: readonly LogLine[], message: string): boolean {
  const [, ...rest] = message.split("\n");
  const last = rest.at(-1);
  return (
    last !== undefined && lines.some(({ text }) => stripEscapeSequences(text).trimEnd() === last.trimEnd())
  );
}

/** A step's log, or the end of it. @param isOpen whether it is open at first; an update keeps what the reader chose. */
function logView(
  step: { readonly index: number; readonly name: string },
  lines: readonly LogLine[],
  isOpen: boolean,
): Html {
  if (lines.length === 0) return html``;
  const count = lines.length === 1 ? "1 line" : `${lines.length} lines`;
  return html`<details class="log" id="log-${step.index}"${isOpen ? html` open` : ""}>
<summary>Log <span class="quiet">${count}</span></summary>
<div class="lines" role="group" aria-label="Log of ${step.name}" tabindex="0" data-sticks="">${lines.map((line) => lineView(line, `line-${line.id}`))}</div>
</details>`;
}

/** The media types that the service serves as images. */
const pictures: ReadonlySet<string> = new Set(["image/png", "image/jpeg"]);

/** A step's artifacts: images are shown, others are links. */
function artifactsView(runId: string, stepName: string, artifacts: readonly Artifact[]): Html {
  const shown = artifacts.filter(({ mediaType }) => pictures.has(mediaType));
  const others = artifacts.filter(({ mediaType }) => !pictures.has(mediaType));
  return html`${shown.map(
    (artifact) => html`<figure class="picture" id="kept-${artifact.file}">
<a href="${addressOf(runId, artifact)}"><img src="${addressOf(runId, artifact)}" alt="${artifact.name}, saved by the step ${stepName}" loading="lazy"></a>
<figcaption class="quiet"><bdi>${artifact.name}</bdi>, ${sizeText(artifact.bytes)}</figcaption>
</figure>`,
  )}${
    others.length === 0
      ? ""
      : html`<ul class="kept">${others.map(
          (artifact) =>
            html`<li><a href="${addressOf(runId, artifact)}"><bdi>${artifact.name}</bdi></a> <span class="quiet">${sizeText(artifact.bytes)}</span></li>`,
        )}</ul>`
  }`;
}

function addressOf(runId: string, { file }: Artifact): string {
  return `/app/runs/${runId}/artifacts/${encodeURIComponent(file)}`;
}
