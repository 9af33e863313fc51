import type { LogOutputChannel, window as vscodeWindow } from "vscode";
import { AbsentEndpoint } from "../client/http/replyError.ts";
import type { ServiceClient } from "../client/http/serviceClient.ts";
import { startRun } from "../client/startRun.ts";
import { startByTool } from "../client/tool/foreignTool.ts";
import { PipelineError } from "../contract/errors.ts";
import type { Hint, RefusedStart } from "../contract/refusal.ts";
import type { Run } from "../contract/run.ts";
import { ProgressLocation } from "./editorNumbers.ts";
import { showRefusal } from "./refusalNotice.ts";
import type { RunAnnouncer } from "./runAnnouncer.ts";
import type { Session } from "./session.ts";
import { StoppedWaiting, WaitNotice } from "./waitNotice.ts";
import type { Waits } from "./waits.ts";

export interface StartPipelineDeps {
  readonly session: Pick<Session, "connect" | "refresh">;
  readonly waits: Waits;
  readonly announcer: RunAnnouncer;
  readonly window: Pick<typeof vscodeWindow, "withProgress" | "showWarningMessage">;
  readonly executeCommand: (command: string) => Thenable<unknown>;
  readonly log: Pick<LogOutputChannel, "info">;
  /** The service's own tool, for a service that starts runs in no other way; undefined when no setting names one. */
  readonly cliPath: () => string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the extension ends. */
  readonly signal: AbortSignal;
}

export interface PipelineWish {
  readonly pipeline: string;
  readonly project: string | undefined;
  /** The project's folder, where it is known. */
  readonly root: string | undefined;
}

/** What one attempt came to; `done` is a run that the service's own tool has followed to its end. */
type Attempt =
  | { readonly kind: "started"; readonly run: Run }
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly refused: RefusedStart; readonly hints?: readonly Hint[] }
  | { readonly kind: "stopped-waiting" };

/** Starts a run with the wait, shows a refusal with its Retry, and announces the run's end. */
export async function startPipeline(wish: PipelineWish, deps: StartPipelineDeps): Promise<void> {
  for (;;) {
    // Anew for each attempt: since the last one the service may have moved, or the settings changed.
    const client = await deps.session.connect(deps.signal);
    const attempt = await attemptStart(wish, client, deps);
    switch (attempt.kind) {
      case "stopped-waiting":
        deps.log.info(`${wish.pipeline}: stopped waiting; no run was made`);
        return;
      case "started":
        deps.log.info(`${wish.pipeline}: ${attempt.run.runId} started`);
        void deps.announcer.follow(client, attempt.run, () => startPipeline(wish, deps));
        return;
      case "done":
        deps.announcer.announceDone(wish.pipeline);
        return;
      case "refused": {
        deps.log.info(`${wish.pipeline}: refused, scope ${attempt.refused.refusal.scope}`);
        const answer = await showRefusal(attempt.refused, deps.window, Date.now(), attempt.hints);
        if (answer === "dismissed") return;
        if (answer === "cancel-mine") {
          await deps.executeCommand("pipelineRuns.cancelMine");
          return;
        }
        break;
      }
      default:
        attempt satisfies never;
    }
  }
}

async function attemptStart(
  wish: PipelineWish,
  client: ServiceClient,
  deps: StartPipelineDeps,
): Promise<Attempt> {
  const { pipeline, project } = wish;
  using notice = new WaitNotice(pipeline, deps.window, deps.waits);
  try {
    const outcome = await startRun(
      { pipeline, ...(project === undefined ? {} : { project }) },
      { client, onWaiting: (secondsLeft) => notice.tell(secondsLeft) },
      AbortSignal.any([deps.signal, notice.signal]),
    );
    // Where no event tells of the new count, it is asked for; a failing question shows in the status bar by itself.
    void deps.session.refresh(client, deps.signal).catch(() => {});
    if (outcome.kind === "started") return outcome;
    return { kind: "refused", refused: { pipeline, ...outcome } };
  } catch (error) {
    if (error instanceof StoppedWaiting) return { kind: "stopped-waiting" };
    if (error instanceof AbsentEndpoint) return attemptByTool(wish, client, deps);
    throw error;
  }
}

/** Through the service's own tool, which waits for a place by itself (contract: "The extension", last row). */
async function attemptByTool(
  { pipeline, root }: PipelineWish,
  client: ServiceClient,
  deps: StartPipelineDeps,
): Promise<Attempt> {
  const cliPath = deps.cliPath();
  if (cliPath === undefined) {
    throw new PipelineError(
      "usage",
      `${client.baseUrl.host} starts runs only through its own command-line tool.`,
      {
        next: "Set pipelineRuns.cliPath to that tool.",
      },
    );
  }
  const tool = {
    cliPath,
    baseUrl: client.baseUrl,
    apiKey: client.apiKey,
    cwd: root ?? process.cwd(),
    env: deps.env,
  };
  const stop = new AbortController();
  try {
    const outcome = await deps.window.withProgress(
      {
        location: ProgressLocation.notification,
        title: `Running ${pipeline} by ${cliPath}`,
        cancellable: true,
      },
      (_, token) => {
        token.onCancellationRequested(() => stop.abort(new StoppedWaiting("stopped")));
        return startByTool(tool, pipeline, AbortSignal.any([deps.signal, stop.signal]));
      },
    );
    if (outcome.kind === "done") return outcome;
    const refused = { pipeline, refusal: outcome.refusal, waitedSeconds: 0 };
    return { kind: "refused", refused, hints: outcome.hints };
  } catch (error) {
    if (error instanceof StoppedWaiting) return { kind: "stopped-waiting" };
    throw error;
  } finally {
    void deps.session.refresh(client, deps.signal).catch(() => {});
  }
}
