import { randomUUID } from "node:crypto";
import { html } from "hono/html";
import type { DeclaredInput, InputValue, InputValues } from "../../contract/inputs.ts";
import type { ServedRun } from "../../contract/run.ts";
import { type Html, marked } from "./layout.ts";

/** What a form starts: a pipeline, or that of a run anew. */
export interface StartTarget {
  readonly pipeline: string;
  readonly project: string;
  /** The run that is repeated. */
  readonly run: ServedRun | undefined;
}

export interface StartFormFacts {
  readonly target: StartTarget;
  /** What the pipeline's file declares now. */
  readonly declared: readonly DeclaredInput[];
  /** What the form has at first: the values of the run, the defaults, or what didn't fit. */
  readonly values: InputValues;
  /** Why the values didn't fit. */
  readonly problem: { readonly message: string; readonly next: string } | undefined;
}

/** The start of the name of a form's field that is an input. */
export const fieldPrefix = "input.";

/** The form that starts a pipeline with its inputs, which one can change. */
export function startFormView({ target, declared, values, problem }: StartFormFacts): Html {
  const { run, pipeline } = target;
  const back = run === undefined ? "/app/pipelines" : `/app/runs/${run.runId}`;
  return html`<nav class="trail" aria-label="Where this page is"><a href="${back}">← ${run === undefined ? "Pipelines" : "The run"}</a></nav>
<h1>Run <bdi>${pipeline}</bdi>${run === undefined ? "" : " again"}</h1>
${problem === undefined ? "" : html`<p class="reason" id="problem" role="alert">${marked(problem.message)}</p>`}
<form class="inputs" method="post" action="${startAddress(target)}">
<input type="hidden" name="request" value="${randomUUID()}">
<input type="hidden" name="with" value="inputs">
${declared.map((input) => fieldView(input, Object.hasOwn(values, input.name) ? values[input.name] : undefined))}
<div><button class="main" title="As its file is now, as a run of yours">${run === undefined ? "Run" : "Run Again"}</button></div>
</form>`;
}

/** Where a start is asked for by a form's POST, and its form of inputs by a GET. */
export function startAddress({ run, pipeline, project }: StartTarget): string {
  if (run !== undefined) return `/app/runs/${run.runId}/again`;
  return `/app/pipelines/start?${new URLSearchParams({ project, pipeline })}`;
}

function fieldView(input: DeclaredInput, value: InputValue | undefined): Html {
  const { name, description, required, default: byDefault } = input;
  const isFoundOut = !required && byDefault === undefined;
  const hints = [
    ...(description === undefined ? [] : [description]),
    ...(isFoundOut ? ["Left empty, the run finds it out when it begins."] : []),
  ];
  return html`<div>
<label for="field-${name}"><code>${name}</code></label>
${hints.length === 0 ? "" : html`<p class="quiet" id="hint-${name}">${hints.join(" ")}</p>`}
${controlView(input, value, hints.length > 0)}
</div>`;
}

function controlView(input: DeclaredInput, value: InputValue | undefined, hasHint: boolean): Html {
  const { name, type, required } = input;
  const options = input.options ?? (type === "boolean" ? [true, false] : undefined);
  const same = html`id="field-${name}" name="${fieldPrefix}${name}"${required ? html` required` : ""}${hasHint ? html` aria-describedby="hint-${name}"` : ""}`;
  if (options !== undefined) {
    const isChosen = options.some((option) => String(option) === String(value));
    return html`<select ${same}>${isChosen && (required || input.default !== undefined) ? "" : html`<option value="">${required ? "Choose one" : ""}</option>`}${options.map(
      (option) =>
        html`<option${String(option) === String(value) ? html` selected` : ""}>${String(option)}</option>`,
    )}</select>`;
  }
  const text = value === undefined ? "" : String(value);
  // A line break behind the tag isn't part of the text.
  if (text.includes("\n")) return html`<textarea ${same} rows="6" spellcheck="false">\n${text}</textarea>`;
  return html`<input ${same} value="${text}"${type === "number" ? html` inputmode="decimal"` : ""} autocomplete="off" spellcheck="false" autocapitalize="none">`;
}
