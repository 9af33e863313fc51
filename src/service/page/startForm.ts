import { hash, randomUUID } from "node:crypto";
import type { Context } from "hono";
import { html } from "hono/html";
import { PipelineError } from "../../contract/errors.ts";
import {
  type DeclaredInput,
  givenInputsSchema,
  type InputValue,
  type InputValues,
  inputsForRerun,
} from "../../contract/pipelines.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { ServedRun } from "../../contract/run.ts";
import { english, limitText } from "../../text/refusalText.ts";
import { duration } from "../../text/time.ts";
import type { Quota } from "../admission/slots.ts";
import { requireAccess, type SignedIn } from "../http/authenticate.ts";
import { longBody } from "../http/endpoints.ts";
import { readIdempotencyKey } from "../http/requestInput.ts";
import { requestRun } from "../http/startRoute.ts";
import type { Caller } from "../store/keys.ts";
import { type Html, marked } from "./layout.ts";
import { formTexts, type PageDeps, showPage } from "./pageRequest.ts";

/** What a form starts: a pipeline, or that of an earlier run. */
export interface StartTarget {
  readonly pipeline: string;
  readonly project: string;
  readonly run: ServedRun | undefined;
}

interface StartFormFacts {
  readonly target: StartTarget;
  /** What the pipeline's file declares now. */
  readonly declared: readonly DeclaredInput[];
  /** The form's initial values: those of the run, the defaults, or those that were rejected. */
  readonly values: InputValues;
  /** Why the values were rejected. */
  readonly problem: { readonly message: string; readonly next: string } | undefined;
}

const fieldPrefix = "input.";

/** The form that starts a pipeline with its inputs, which one can change. */
function startFormView({ target, declared, values, problem }: StartFormFacts): Html {
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

/** The address that starts the target by a form's POST, and shows its form of inputs by GET. */
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
  // HTML drops a line break right after the tag, so the text gets one more.
  if (text.includes("\n")) return html`<textarea ${same} rows="6" spellcheck="false">\n${text}</textarea>`;
  return html`<input ${same} value="${text}"${type === "number" ? html` inputmode="decimal"` : ""} autocomplete="off" spellcheck="false" autocapitalize="none">`;
}

export async function askForInputs(
  context: Context<SignedIn>,
  target: StartTarget,
  deps: PageDeps,
): Promise<Response> {
  const caller = context.get("caller");
  requireAccess("members", caller);
  const declared = await declaredBy(target, caller, deps);
  return showForm(
    context,
    { target, declared, values: inputsOf(target, declared), problem: undefined },
    deps,
  );
}

/**
 * Starts a pipeline as its file is now, at a step if one is named. The run is the caller's, even if it repeats that of
 * somebody else.
 */
export async function startByForm(
  context: Context<SignedIn>,
  target: StartTarget,
  deps: PageDeps,
): Promise<Response> {
  const caller = context.get("caller");
  requireAccess("members", caller);
  const { request, from: fromStep, with: what, ...fields } = await formTexts(context, longBody);
  const { pipeline, project, run } = target;
  const isForm = what === "inputs";
  const declared = await declaredBy(target, caller, deps);
  const inputs = isForm ? givenInputs(declared, fields) : run && inputsForRerun(run);
  // The same form sent again with other values requests another run.
  const key =
    isForm && request !== undefined ? `${request}-${hash("sha256", JSON.stringify(inputs))}` : request;
  // A browser that waits shows nothing of the queue, so a taken slot refuses at once.
  const how = { idempotencyKey: readIdempotencyKey(key), waitSeconds: 0 };
  const body = { pipeline, project, fromStep, inputs };
  const outcome = await requestRun(context, body, how, deps).catch((error: unknown) => {
    if (error instanceof PipelineError && error.type === "invalid-request") return error;
    throw error;
  });
  if (outcome instanceof PipelineError) {
    if (declared.length === 0) throw outcome;
    const values = inputs ?? inputsOf(target, declared);
    return showForm(context, { target, declared, values, problem: outcome }, deps);
  }
  if (outcome.kind === "refused") throw notStarted(pipeline, outcome.refusal, outcome.quota);
  return context.redirect(`/app/runs/${outcome.run.runId}`, 303);
}

/** The values of a form's fields. An empty field counts only for a text input that has a default. */
function givenInputs(
  declared: readonly DeclaredInput[],
  fields: Readonly<Record<string, string | undefined>>,
): InputValues {
  const given = Object.entries(fields).flatMap(([field, text = ""]) => {
    if (!field.startsWith(fieldPrefix)) return [];
    const name = field.slice(fieldPrefix.length);
    const input = declared.find((each) => each.name === name);
    const isLeftOut = text === "" && (input?.default === undefined || input.type !== "text");
    // A browser sends every line break as two characters.
    return isLeftOut ? [] : [[name, text.replaceAll("\r\n", "\n")] as const];
  });
  const read = givenInputsSchema.safeParse(Object.fromEntries(given));
  if (read.success) return read.data;
  throw new PipelineError("invalid-request", "The form's fields are not those of a start.");
}

async function declaredBy(
  { pipeline, project }: StartTarget,
  { orgId }: Caller,
  { pipelines }: PageDeps,
): Promise<readonly DeclaredInput[]> {
  const listed = await pipelines.list(orgId, project);
  return listed.find(({ name }) => name === pipeline)?.inputs ?? [];
}

function showForm(context: Context<SignedIn>, facts: StartFormFacts, deps: PageDeps): Promise<Response> {
  const { run, pipeline } = facts.target;
  const title = `Run ${pipeline}${run === undefined ? "" : " again"}`;
  const parts = { title, main: startFormView(facts), now: deps.clock.now() };
  return showPage(context, parts, deps, facts.problem === undefined ? 200 : 400);
}

/** The form's initial values: those of the run that is repeated, or the defaults. */
function inputsOf({ run }: StartTarget, declared: readonly DeclaredInput[]): InputValues {
  if (run !== undefined) return inputsForRerun(run);
  return Object.fromEntries(
    declared.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The reset is given in UTC: the reader's clock may be in another zone than the service's. */
function notStarted(pipeline: string, refusal: Refusal, { limits }: Quota): PipelineError {
  const why = limitText({ refusal, waitedSeconds: 0 }, limits.runsPerDay, english);
  const next =
    refusal.scope === "org"
      ? "Run it again when that has ended, or cancel that first."
      : `The count starts again at 00:00 UTC, in ${duration(refusal.secondsToReset * 1000)}.`;
  return new PipelineError("too-many-runs", `${pipeline} was not started: ${why}`, { next });
}
