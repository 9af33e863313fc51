import { hash } from "node:crypto";
import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import {
  type DeclaredInput,
  givenInputsSchema,
  type InputValues,
  inputsAgain,
} from "../../contract/inputs.ts";
import type { Refusal } from "../../contract/refusal.ts";
import { english, limitText } from "../../text/refusalText.ts";
import { duration } from "../../text/time.ts";
import type { Quota } from "../admission/slots.ts";
import { requireChange } from "../http/authenticate.ts";
import { longBody } from "../http/endpoints.ts";
import { readIdempotencyKey } from "../http/requestInput.ts";
import { requestRun } from "../http/startRoute.ts";
import type { Caller } from "../store/keys.ts";
import { listRuns } from "../store/runs.ts";
import { existingRun, formTexts, nextPath, type PageDeps, type PageEnv, showPage } from "./pageRequest.ts";
import { fieldPrefix, type StartFormFacts, type StartTarget, startFormView } from "./startForm.ts";

/** More active runs than any org has slots. */
export const mostActive = 100;

/** What the page's buttons do: cancel, cancel mine, run again. */
export function runChangeRoutes(deps: PageDeps): Hono<PageEnv> {
  const { db, runs } = deps;
  const routes = new Hono<PageEnv>();

  routes.post("/cancel-mine", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const { back } = await formTexts(context);
    const { orgId, keyId } = caller;
    const mine = await listRuns(db, orgId, { status: "in-work", actor: keyId, limit: mostActive });
    await Promise.all(mine.runs.map(({ runId }) => runs.cancel(orgId, runId, keyId)));
    return context.redirect(nextPath(back), 303);
  });

  routes.post("/:id/cancel", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const { back } = await formTexts(context);
    const { runId } = await existingRun(caller, context.req.param("id"), deps);
    await runs.cancel(caller.orgId, runId, caller.keyId);
    return context.redirect(nextPath(back), 303);
  });

  const againOf = async (context: Context<PageEnv>, id: string): Promise<StartTarget> => {
    const run = await existingRun(context.get("caller"), id, deps);
    return { pipeline: run.pipeline, project: run.project, run };
  };
  routes.get("/:id/again", async (context) =>
    askForInputs(context, await againOf(context, context.req.param("id")), deps),
  );
  routes.post("/:id/again", async (context) =>
    startByForm(context, await againOf(context, context.req.param("id")), deps),
  );

  return routes;
}

/** The form of a start's inputs. */
export async function askForInputs(
  context: Context<PageEnv>,
  target: StartTarget,
  deps: PageDeps,
): Promise<Response> {
  const caller = context.get("caller");
  requireChange(caller);
  const declared = await declaredBy(target, caller, deps);
  return showForm(
    context,
    { target, declared, values: inputsOf(target, declared), problem: undefined },
    deps,
  );
}

/**
 * Starts a pipeline as its file is now, at a step if one is named: a run of the caller's, also where it repeats that of
 * another.
 */
export async function startByForm(
  context: Context<PageEnv>,
  target: StartTarget,
  deps: PageDeps,
): Promise<Response> {
  const caller = context.get("caller");
  requireChange(caller);
  const { request, from: fromStep, with: what, ...fields } = await formTexts(context, longBody);
  const { pipeline, project, run } = target;
  const isForm = what === "inputs";
  const declared = await declaredBy(target, caller, deps);
  const inputs = isForm ? givenInputs(declared, fields) : run && inputsAgain(run);
  // The form that is sent again with other values asks for another run.
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

/** The values of a form's fields. One that is left empty counts where it is a text that a run doesn't find out by itself. */
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

function showForm(context: Context<PageEnv>, facts: StartFormFacts, deps: PageDeps): Promise<Response> {
  const { run, pipeline } = facts.target;
  const title = `Run ${pipeline}${run === undefined ? "" : " again"}`;
  const parts = { title, main: startFormView(facts), now: deps.clock.now() };
  return showPage(context, parts, deps, facts.problem === undefined ? 200 : 400);
}

/** Those of the run that is repeated, else the defaults. */
function inputsOf({ run }: StartTarget, declared: readonly DeclaredInput[]): InputValues {
  if (run !== undefined) return inputsAgain(run);
  return Object.fromEntries(
    declared.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The reset is told in UTC: the reader's clock may be in another zone than the service's. */
function notStarted(pipeline: string, refusal: Refusal, { limits }: Quota): PipelineError {
  const why = limitText({ refusal, waitedSeconds: 0 }, limits.runsPerDay, english);
  const next =
    refusal.scope === "org"
      ? "Run it again when that has ended, or cancel that first."
      : `The count starts again at 00:00 UTC, in ${duration(refusal.secondsToReset * 1000)}.`;
  return new PipelineError("too-many-runs", `${pipeline} was not started: ${why}`, { next });
}
