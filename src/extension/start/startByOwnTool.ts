import { homedir } from "node:os";
import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { checkToolPath, startByTool } from "../../client/foreignTool/foreignTool.ts";
import type { ForeignTool } from "../../client/foreignTool/toolProcess.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint, LostStart } from "../../client/service/replyErrors.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Hint, RefusedStart } from "../../contract/refusal.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { systemClock } from "../../machine/clock.ts";
import type { Session } from "../session/session.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import type { ChosenStart } from "./chooseStart.ts";
import { StoppedWaiting } from "./waitNotice.ts";

export interface StartByToolDeps extends OwnToolDeps {
  readonly session: Pick<Session, "noteChange">;
  readonly window: Pick<typeof vscodeWindow, "withProgress">;
  readonly signal: AbortSignal;
}

type ToolEnd =
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly refused: RefusedStart; readonly hints: readonly Hint[] };

type ToolAttempt = ToolEnd | { readonly kind: "stopped" };

/**
 * Runs a pipeline with the service's own tool, which waits for a slot and follows the run itself (contract: "The extension", last
 * row). A notification shows what it prints to standard error.
 * @throws PipelineError as `ownTool` and `startByTool`.
 */
export async function startByOwnTool(
  chosen: ChosenStart,
  client: ServiceClient,
  deps: StartByToolDeps,
): Promise<ToolAttempt> {
  const { pipeline } = chosen;
  const tool = await ownTool(client, chosen, deps);
  const stop = new AbortController();
  try {
    return await deps.window.withProgress(
      {
        location: ProgressLocation.notification,
        title: t("Running {0} by {1}", pipeline, tool.cliPath),
        cancellable: true,
      },
      (progress, token) => {
        token.onCancellationRequested(() => stop.abort(new StoppedWaiting("stopped")));
        progress.report({ message: t("its tool waits for a slot by itself") });
        return runOwnTool(
          { ...tool, onProgress: (message) => progress.report({ message }) },
          pipeline,
          anySignal([deps.signal, stop.signal]),
        );
      },
    );
  } catch (error) {
    if (error instanceof StoppedWaiting) return { kind: "stopped" };
    throw error;
  } finally {
    deps.session.noteChange(client, deps.signal);
  }
}

/** Runs a pipeline with the tool to its end, and measures how long that took. @throws PipelineError as `startByTool`. */
export async function runOwnTool(tool: ForeignTool, pipeline: string, signal: AbortSignal): Promise<ToolEnd> {
  const { clock = systemClock } = tool;
  const began = clock.monotonic();
  const outcome = await startByTool(tool, pipeline, signal);
  if (outcome.kind === "done") return outcome;
  const waitedSeconds = Math.round((clock.monotonic() - began) / 1000);
  const { refusal, hints } = outcome;
  return { kind: "refused", refused: { pipeline, refusal, waitedSeconds }, hints };
}

export interface OwnToolDeps {
  /** The setting `pipelineRuns.cliPath`; undefined if empty. */
  readonly cliPath: () => string | undefined;
  /** The window's folders on this machine, none of which may contain the tool. */
  readonly folders: () => readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Whether a failed start should be made by the service's own tool, because the service has no usable endpoint (contract: "The
 * extension", last row). False if a run may exist.
 */
export function startsByTool(error: unknown, { cliPath }: Pick<OwnToolDeps, "cliPath">): boolean {
  if (error instanceof AbsentEndpoint) return true;
  if (!(error instanceof PipelineError) || error instanceof LostStart || cliPath() === undefined)
    return false;
  return error.type === "not-found" || error.type === "forbidden" || error.type === "breaks-contract";
}

/**
 * The service's own command-line tool and the settings to run it with.
 * @param request gives the working folder, by default the home folder, and what the tool can't take.
 * @throws PipelineError `usage` without the setting, or for a time limit, a first step or inputs; as `checkToolPath`.
 */
export async function ownTool(
  client: ServiceClient,
  request: Pick<ChosenStart, "root" | "timeLimitSeconds" | "fromStep" | "inputs">,
  deps: OwnToolDeps,
): Promise<ForeignTool> {
  if (
    request.timeLimitSeconds !== undefined ||
    request.fromStep !== undefined ||
    request.inputs !== undefined
  ) {
    throw new PipelineError(
      "usage",
      t(
        "{0} starts runs only through its own tool, which takes nothing but a pipeline's name.",
        client.baseUrl.host,
      ),
      { next: t("Start the whole pipeline, without a time limit and inputs.") },
    );
  }
  const cliPath = deps.cliPath();
  if (cliPath === undefined) {
    throw new PipelineError(
      "usage",
      t("{0} starts and lists its runs only through its own command-line tool.", client.baseUrl.host),
      { next: t("Set pipelineRuns.cliPath to that tool.") },
    );
  }
  await checkToolPath(cliPath, deps.folders());
  return {
    cliPath,
    baseUrl: client.baseUrl,
    apiKey: client.apiKey,
    cwd: request.root ?? homedir(),
    env: deps.env,
  };
}
