import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { systemClock } from "../../client/clock.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { startByTool } from "../../client/tool/foreignTool.ts";
import type { Hint, RefusedStart } from "../../contract/refusal.ts";
import { ProgressLocation } from "../editorNumbers.ts";
import type { Session } from "../session.ts";
import { type OwnToolDeps, ownTool } from "./ownTool.ts";
import type { PipelineWish } from "./pipelineWish.ts";
import { StoppedWaiting } from "./waitNotice.ts";

export interface StartByToolDeps extends OwnToolDeps {
  readonly session: Pick<Session, "refresh">;
  readonly window: Pick<typeof vscodeWindow, "withProgress">;
  readonly signal: AbortSignal;
}

type ToolAttempt =
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly refused: RefusedStart; readonly hints: readonly Hint[] }
  | { readonly kind: "stopped"; readonly made: "not known" };

/**
 * Runs a pipeline through the service's own tool, which waits for a place by itself and follows the run to its end
 * (contract: "The extension", last row). What the tool says of it on standard error is shown meanwhile; more can't be known.
 *
 * @throws PipelineError as `ownTool` and `startByTool`.
 */
export async function startByOwnTool(
  { pipeline, root, timeLimitSeconds }: PipelineWish,
  client: ServiceClient,
  deps: StartByToolDeps,
): Promise<ToolAttempt> {
  const tool = await ownTool(client, { root, timeLimitSeconds }, deps);
  const stop = new AbortController();
  const began = systemClock.monotonic();
  try {
    const outcome = await deps.window.withProgress(
      {
        location: ProgressLocation.notification,
        title: t("Running {0} by {1}", pipeline, tool.cliPath),
        cancellable: true,
      },
      (progress, token) => {
        token.onCancellationRequested(() => stop.abort(new StoppedWaiting("stopped")));
        progress.report({ message: t("its tool waits for a place by itself") });
        return startByTool(
          { ...tool, onProgress: (message) => progress.report({ message }) },
          pipeline,
          AbortSignal.any([deps.signal, stop.signal]),
        );
      },
    );
    if (outcome.kind === "done") return outcome;
    const waitedSeconds = Math.round((systemClock.monotonic() - began) / 1000);
    return {
      kind: "refused",
      refused: { pipeline, refusal: outcome.refusal, waitedSeconds },
      hints: outcome.hints,
    };
  } catch (error) {
    if (error instanceof StoppedWaiting) return { kind: "stopped", made: "not known" };
    throw error;
  } finally {
    void deps.session.refresh(client, deps.signal).catch(() => {});
  }
}
