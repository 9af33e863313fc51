import { randomUUID } from "node:crypto";
import { html } from "hono/html";
import type { DeclaredInput, InputValue, InputValues } from "../../contract/inputs.ts";
import type { ServedRun } from "../../contract/run.ts";
import { type Html, marked } from "./layout.ts";

export interface AgainFacts {
  readonly run: ServedRun;
  /** What the pipeline's file declares now. */
  readonly declared: readonly DeclaredInput[];
  /** What the form has at first: the values of the run, or those that didn't fit. */
  readonly values: InputValues;
  /** Why the values didn't fit. */
  readonly problem: { readonly message: string; readonly next: string } | undefined;
}

/** The start of the name of a form's field that is an input. */
export const fieldPrefix = "input.";

/** The form that starts a run's pipeline again with its inputs, which one can change. */
export function againFormView({ run, declared, values, problem }: AgainFacts): Html {
  return html`<nav class="trail" aria-label="Where this page is"><a href="/app/runs/${run.runId}">← The run</a></nav>
<h1>Run <bdi>${run.pipeline}</bdi> again</h1>
${problem === undefined ? "" : html`<p class="reason" id="problem" role="alert">${marked(problem.message)}</p>`}
<form class="inputs" method="post" action="/app/runs/${run.runId}/again">
<input type="hidden" name="request" value="${randomUUID()}">
<input type="hidden" name="with" value="inputs">
${declared.map((input) => fieldView(input, Object.hasOwn(values, input.name) ? values[input.name] : undefined))}
<div><button class="main" title="As its file is now, as a run of yours">Run Again</button></div>
</form>`;
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
