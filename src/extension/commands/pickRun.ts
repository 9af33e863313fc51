import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import * as z from "zod/mini";
import type { RunsQuery, ServiceClient } from "../../client/service/client.ts";
import { PipelineError } from "../../contract/errors.ts";
import { inputsForRerun } from "../../contract/pipelines.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { duration } from "../../text/time.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import type { RowContext } from "../views/runRow.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { areOfSeveralProjects, inputsText, momentText, statusText } from "../window/runText.ts";

/**
 * Lists runs and reads the org, whose reply alone decides whether the service is there.
 * @returns the runs, undefined if the service doesn't list them, and other facts for their rows.
 * @throws PipelineError as `ServiceClient.orgAndTime`.
 */
export async function pickableRuns(client: ServiceClient, query: RunsQuery, signal: AbortSignal) {
  const unlessListed = (error: unknown) => {
    if (error instanceof PipelineError) return undefined;
    throw error;
  };
  const [{ org, servedAt }, page] = await Promise.all([
    client.orgAndTime(signal),
    client.runs(query, signal).catch(unlessListed),
  ]);
  const now = client.clock.now();
  return { runs: page?.runs, me: org.actor, serviceNow: servedAt ?? now, now };
}

export async function pickRun(
  runs: readonly Run[],
  words: { readonly title: string; readonly placeHolder: string },
  context: Pick<RowContext, "me" | "serviceNow" | "now">,
  window: Pick<typeof vscodeWindow, "showQuickPick">,
): Promise<Run | undefined> {
  const seen = { ...context, namesProjects: areOfSeveralProjects(runs) };
  const items = runs.map((run) => runItem(run, seen));
  const how = { ...words, matchOnDescription: true, matchOnDetail: true };
  return (await window.showQuickPick(items, how))?.run;
}

const longestInputs = 60;

function runItem(run: Run, seen: RowContext) {
  const { actor, project, runId } = run;
  const { me, namesProjects } = seen;
  const starter = actorText(run);
  const inputs = inputsText({ inputs: inputsForRerun(run) }, longestInputs);
  const who = starter && (actor === me ? t("started by you") : t("started by {0}", starter));
  return {
    label: withoutIcons(nameOf(run)),
    description: withoutIcons(timeText(run, seen)),
    detail: withoutIcons(
      [namesProjects ? project : undefined, inputs, runId, who].filter(Boolean).join(", "),
    ),
    run,
  };
}

function timeText(run: Run, { serviceNow, now }: RowContext): string {
  const status = statusText(run.status);
  if (run.createdAt === undefined) return status;
  const began = Date.parse(run.createdAt);
  const when = momentText(began - (serviceNow - now), now);
  if (isActive(run)) return t("{0} since {1}", status, when);
  if (run.stoppedAt === undefined) return t("{0}, {1}", status, when);
  return t("{0} after {1}, {2}", status, duration(Date.parse(run.stoppedAt) - began), when);
}

export interface RecentRunDeps {
  readonly session: Pick<Session, "connect">;
  readonly runs: Pick<RunList, "find">;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick" | "showInformationMessage">;
  readonly signal: AbortSignal;
}

/** How many of the newest runs a person picks from. */
const offered = 50;

/**
 * The run that the argument names, else one that the person picks from the newest.
 * @returns undefined if the person cancels, or there is none, which a notification says.
 * @throws PipelineError as `ServiceClient.run` and `ServiceClient.runs`.
 */
export async function recentRun(
  argument: unknown,
  words: { readonly title: string; readonly placeHolder: string },
  deps: RecentRunDeps,
): Promise<Run | undefined> {
  const runId = runIdOf(argument);
  if (runId !== undefined) {
    const known = deps.runs.find(runId);
    return known ?? (await deps.session.connect(deps.signal)).run(runId, deps.signal);
  }
  const client = await deps.session.connect(deps.signal);
  const { runs = [], ...context } = await pickableRuns(client, { limit: offered }, deps.signal);
  if (runs.length > 0) return pickRun(runs, words, context, deps.window);
  void deps.window.showInformationMessage(t("There are no runs."));
  return undefined;
}

const runSchema = z.object({ runId: z.string().check(z.minLength(1)) });

/**
 * Reads the run in a command's argument: `{ runId }` of a row, a lens or a keybinding, or the id itself.
 * @returns undefined without an argument.
 * @throws PipelineError `usage` for anything else.
 */
export function runIdOf(argument: unknown): string | undefined {
  if (argument === undefined || argument === null) return undefined;
  if (typeof argument === "string" && argument !== "") return argument;
  const parsed = runSchema.safeParse(argument);
  if (parsed.success) return parsed.data.runId;
  throw new PipelineError("usage", t("The command's argument is not a run."), {
    next: t('Pass { "runId": "run_…" }, or nothing to choose a run.'),
  });
}
