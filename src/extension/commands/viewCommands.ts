import { t } from "@vscode/l10n";
import type { Clipboard, window as vscodeWindow } from "vscode";
import * as z from "zod/mini";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Target } from "../keys/serviceChoice.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { type RecentRunDeps, recentRun, runIdOf } from "./pickRun.ts";

interface RefreshRunsDeps {
  readonly session: Pick<Session, "state" | "currentClient" | "watch" | "restart" | "refresh">;
  readonly runs: Pick<RunList, "refresh">;
  readonly signal: AbortSignal;
}

/**
 * “Refresh Runs”: reads the org and its runs again, or tries to reach the service again. Errors are shown in the view and the
 * status bar.
 */
export async function refreshRuns({ session, runs, signal }: RefreshRunsDeps): Promise<void> {
  const { currentClient } = session;
  if (session.state.value.kind === "live" && currentClient !== undefined) {
    try {
      await Promise.all([session.refresh(currentClient, signal), runs.refresh(signal)]);
      return;
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  session.watch();
  session.restart();
}

interface OpenInBrowserDeps {
  readonly session: Pick<Session, "connect">;
  readonly target: () => Target;
  readonly openExternal: (url: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/**
 * “Open in Browser”: opens the service's page of the run, or of all runs without one. This machine's own service signs the
 * browser in with a link that works once; any other asks the person to sign in.
 */
export async function openInBrowser(deps: OpenInBrowserDeps, argument?: unknown): Promise<void> {
  const runId = runIdOf(argument);
  const client = await deps.session.connect(deps.signal);
  const path = runId === undefined ? "app/runs" : `app/runs/${encodeURIComponent(runId)}`;
  const page = new URL(path, client.baseUrl);
  const link = deps.target().kind === "embedded" ? await signInLink(client, deps.signal) : undefined;
  if (runId !== undefined) link?.searchParams.set("next", page.pathname);
  await deps.openExternal((link ?? page).href);
}

async function signInLink(client: ServiceClient, signal: AbortSignal): Promise<URL | undefined> {
  try {
    return new URL((await client.signInLink(signal)).url);
  } catch (error) {
    if (error instanceof AbsentEndpoint) return undefined;
    throw error;
  }
}

interface CopyRunIdDeps extends RecentRunDeps {
  readonly clipboard: Pick<Clipboard, "writeText">;
  readonly window: RecentRunDeps["window"] & Pick<typeof vscodeWindow, "setStatusBarMessage">;
}

/** In milliseconds. */
const saidFor = 3000;

/** “Copy Run Id…”: copies a run's id to the clipboard. */
export async function copyRunId(deps: CopyRunIdDeps, argument?: unknown): Promise<void> {
  const words = { title: t("Copy Run ID"), placeHolder: t("Select the run whose ID to copy") };
  const runId = runIdOf(argument) ?? (await recentRun(undefined, words, deps))?.runId;
  if (runId === undefined) return;
  await deps.clipboard.writeText(runId);
  deps.window.setStatusBarMessage(withoutIcons(t("Copied {0}", runId)), saidFor);
}

interface OpenPipelineDeps {
  readonly openFile: (root: string, path: string) => Thenable<unknown>;
}

const fileSchema = z.object({ root: z.string(), path: z.string() });

/** “Open Pipeline File”: opens the file of a row of the Pipelines view. @throws PipelineError `usage` for any other argument. */
export async function openPipeline({ openFile }: OpenPipelineDeps, argument?: unknown): Promise<void> {
  const file = fileSchema.safeParse(argument);
  if (!file.success) {
    throw new PipelineError("usage", t("The command needs a pipeline file."), {
      next: t("Select one in the Pipelines view."),
    });
  }
  await openFile(file.data.root, file.data.path);
}
