import type { LogOutputChannel, window as vscodeWindow } from "vscode";
import { followRun } from "../client/followRun.ts";
import type { ServiceClient } from "../client/http/serviceClient.ts";
import { describeError, PipelineError } from "../contract/errors.ts";
import type { Run, Step } from "../contract/run.ts";

export interface AnnouncerDeps {
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage" | "showErrorMessage">;
  readonly log: Pick<LogOutputChannel, "info" | "warn" | "show">;
  readonly signal: AbortSignal;
  /** Shows what went wrong. */
  readonly showProblem: (error: unknown) => Promise<void>;
}

/** Follows the runs that this window has started, and announces each end once. */
export class RunAnnouncer {
  readonly #deps: AnnouncerDeps;
  readonly #quiet = new Set<string>();

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
  }

  /** The end of this run is shown by who cancels it, not announced once more. @returns the way to take that back. */
  keepQuiet(runId: string): () => void {
    this.#quiet.add(runId);
    return () => this.#quiet.delete(runId);
  }

  /** @param runAgain starts the pipeline once more, when the person asks for it. */
  async follow(client: ServiceClient, started: Run, runAgain: () => Promise<void>): Promise<void> {
    const { log, signal, showProblem } = this.#deps;
    const told = new Set<number>();
    let run: Run;
    try {
      run = await followRun(client, started.runId, (seen) => this.#logSteps(seen, told), signal);
    } catch (error) {
      if (signal.aborted) return;
      const next = `Its end is not known here. ${describeError(error)}`;
      log.warn(`${started.runId}: ${next}`);
      await showProblem(
        new PipelineError("out-of-reach", `${started.pipeline} was started.`, { cause: error, next }),
      );
      return;
    }
    log.info(
      `${run.pipeline}: ${run.runId} ${run.status}${run.reason === undefined ? "" : `: ${run.reason}`}`,
    );
    if (this.#quiet.delete(run.runId)) return;
    await this.#announce(run, () => runAgain().catch(showProblem));
  }

  announceDone(pipeline: string): void {
    void this.#deps.window.showInformationMessage(`${pipeline} succeeded.`);
  }

  async #announce(run: Run, runAgain: () => Promise<void>): Promise<void> {
    const { window, log } = this.#deps;
    if (run.status === "succeeded") {
      void window.showInformationMessage(`${run.pipeline} succeeded in ${seconds(run)} s.`);
      return;
    }
    if (run.status === "cancelled") {
      void window.showInformationMessage(`${run.pipeline} was cancelled.`);
      return;
    }
    const why = run.reason === undefined ? "." : `: ${inShort(run.reason)}`;
    const chosen = await window.showErrorMessage(
      `${run.pipeline} ${words(run.status)}${why}`,
      "Run Again",
      "Show Log",
    );
    if (chosen === "Run Again") await runAgain();
    if (chosen === "Show Log") log.show();
  }

  #logSteps(run: Run, told: Set<number>): void {
    for (const [position, step] of (run.steps ?? []).entries()) {
      if (step.stoppedAt === undefined || told.has(position)) continue;
      told.add(position);
      this.#deps.log.info(`${run.pipeline}: ${stepLine(step)}`);
    }
  }
}

function stepLine({ name, status, message }: Step): string {
  return `${name}: ${status}${message === undefined ? "" : `: ${message}`}`;
}

function seconds({ createdAt, stoppedAt }: Run): string {
  return stoppedAt === undefined ? "?" : ((Date.parse(stoppedAt) - Date.parse(createdAt)) / 1000).toFixed(1);
}

function words(status: string): string {
  return status === "timed-out" ? "timed out" : status === "lost" ? "was lost" : status;
}

/** The text on one line: what went wrong, and of the output that follows it the last line, which tells most. */
function inShort(text: string): string {
  const [first = "", ...others] = text.trim().split("\n");
  const last = others.at(-1)?.trim();
  return last === undefined ? first : `${first} ${last}`;
}
