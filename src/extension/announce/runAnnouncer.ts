import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, window as vscodeWindow } from "vscode";
import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import type { Reconnect } from "../../client/service/failedRequest.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { inputsForRerun } from "../../contract/pipelines.ts";
import { actorText, nameOf, type Run, reasonText } from "../../contract/run.ts";
import { failedStep, isActive } from "../../contract/runStatus.ts";
import type { Clock } from "../../machine/clock.ts";
import { tookText } from "../../text/time.ts";
import type { Session } from "../session/session.ts";
import type { Claims } from "../window/claims.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { firstAndLastLine, inputsText } from "../window/runText.ts";

export interface AnnouncerDeps {
  readonly window: Pick<
    typeof vscodeWindow,
    "showInformationMessage" | "showErrorMessage" | "setStatusBarMessage" | "state"
  >;
  readonly session: Pick<Session, "runChanged" | "state" | "reading" | "currentClient">;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  readonly signal: AbortSignal;
  readonly level: () => AnnounceLevel;
  readonly setLevel: (level: AnnounceLevel) => Thenable<void>;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly showProblem: (error: unknown) => Promise<void>;
}

/** In milliseconds: how long a window lets others go first with a run that it didn't start. */
const announceDelay = { focused: 500, others: 2000 } as const;
/** In milliseconds. */
const statusBarTime = 8000;

/**
 * Announces the ends of runs that the setting asks for: of runs that this window started, and of those that the service's events
 * report, such as the same key's runs from a terminal. Only one window announces each, preferably the one that started the run.
 * An unannounced end of this window's own run shows in the status bar.
 */
export class RunAnnouncer implements Disposable {
  readonly #deps: AnnouncerDeps;
  readonly #listening: readonly Disposable[];
  /** Runs whose end is shown by the command that cancels them. */
  readonly #suppressed = new Set<string>();
  /** Runs that this window follows, and active runs that events reported. */
  readonly #own = new Set<string>();
  readonly #active = new Set<string>();
  /** The connection that reports these runs, and the org that they are of. */
  #client: ServiceClient | undefined;
  #orgId: string | undefined;

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
    const { runChanged, reading } = deps.session;
    this.#listening = [
      runChanged.subscribe((run) => this.#onRunChanged(run)),
      reading.observe((now) => {
        if (now?.how === "followed") void this.#readMissedEnds();
      }),
    ];
  }

  dispose(): void {
    for (const one of this.#listening) one.dispose();
  }

  /** Keeps this run's end from being announced, since the cancelling command shows it. @returns a function that undoes this. */
  suppress(runId: string): () => void {
    this.#suppressed.add(runId);
    return () => this.#suppressed.delete(runId);
  }

  /**
   * Follows a run that this window started, and announces its end.
   * @param runAgain starts the pipeline again, if the person asks for it.
   */
  async follow(
    client: ServiceClient,
    started: Run,
    runAgain: () => Promise<void>,
    reconnect?: Reconnect,
  ): Promise<void> {
    const { log, signal, showProblem } = this.#deps;
    const told = new Set<number>();
    this.#own.add(started.runId);
    let run: Run;
    try {
      run = await followRun(client, started, (seen) => this.#logSteps(seen, told), signal, reconnect);
    } catch (error) {
      if (signal.aborted) return;
      if (isUnseen(error)) {
        log.info(`${nameOf(started)}: ${started.runId}: ${error.message}`);
        const { host } = client.baseUrl;
        this.#showInStatusBar(t("{0} was started. {1} doesn't report how runs end.", nameOf(started), host));
        return;
      }
      const next = t("How it ended is unknown. {0}", describeError(error));
      log.warn(`${started.runId}: ${next}`);
      await showProblem(
        new PipelineError("out-of-reach", t("{0} was started.", nameOf(started)), { cause: error, next }),
      );
      return;
    }
    // The failed step's message, logged above, says more. This window's key started the run.
    const isSaid = failedStep(run)?.step.message !== undefined;
    const reason = isSaid ? undefined : reasonText(run, started.actor);
    log.info(`${nameOf(run)}: ${run.runId} ${run.status}${reason === undefined ? "" : `: ${reason}`}`);
    if (this.#suppressed.delete(run.runId)) {
      // The claim keeps other windows from announcing it.
      await this.#isFirst(run);
      return;
    }
    const { level } = this.#deps;
    if (!isAnnounced(level(), run, true)) {
      this.#showInStatusBar(endStatusText(run));
    } else if (await this.#isFirst(run)) {
      await this.#announce(run, true, () => runAgain().catch(showProblem));
    }
  }

  /** Shows the success of a run that the service's own tool followed; nothing else is known about the run. */
  announceDone(pipeline: string): void {
    this.#showInStatusBar(`$(check) ${withoutIcons(t("{0} succeeded", pipeline))}`);
  }

  /** Announces the end of a run that another window, tool or person started. */
  #onRunChanged(run: Run): void {
    if (isActive(run)) this.#active.add(run.runId);
    else if (this.#active.delete(run.runId)) void this.#announceOther(run);
  }

  /** Announces, once for each connection, the runs that ended while the events of the one before were broken off. */
  async #readMissedEnds(): Promise<void> {
    const { session, signal } = this.#deps;
    const { value } = session.state;
    const client = session.currentClient;
    if (client === undefined || client === this.#client || value.kind !== "live") return;
    if (this.#orgId !== value.org.orgId) this.#active.clear();
    this.#client = client;
    this.#orgId = value.org.orgId;
    for (const runId of this.#active) {
      try {
        const run = await client.run(runId, signal);
        if (!isActive(run)) this.#onRunChanged(run);
      } catch (error) {
        // A service that is away again is asked by the next connection.
        if (error instanceof PipelineError && error.type === "not-found") this.#active.delete(runId);
      }
    }
  }

  async #announceOther(run: Run): Promise<void> {
    const { session, level, window, clock, signal, executeCommand, showProblem } = this.#deps;
    const { value } = session.state;
    if (value.kind !== "live") return;
    const isMine = run.actor === value.org.actor;
    if (await this.#isShownElsewhere(run)) return;
    if (!isAnnounced(level(), run, isMine)) return;
    const pause = window.state.focused ? announceDelay.focused : announceDelay.others;
    if (await clock.sleep(pause, signal).catch(() => "ended")) return;
    if ((await this.#isShownElsewhere(run)) || !(await this.#isFirst(run))) return;
    const { pipeline, project } = run;
    const request = { pipeline, project, inputs: inputsForRerun(run) };
    const again = async () => void (await executeCommand("pipelineRuns.run", request));
    await this.#announce(run, isMine, () => again().catch(showProblem));
  }

  /** Whether this window shows the end in another way; if so, no other window announces it. */
  async #isShownElsewhere(run: Run): Promise<boolean> {
    if (this.#own.has(run.runId)) return true;
    if (!this.#suppressed.delete(run.runId)) return false;
    await this.#isFirst(run);
    return true;
  }

  #isFirst({ runId }: Run): Promise<boolean> {
    return this.#deps.claims.claim(`ended/${runId}`);
  }

  async #announce(run: Run, isMine: boolean, runAgain: () => Promise<void>): Promise<void> {
    const { window, executeCommand } = this.#deps;
    const [again, openLog, noMore] = [t("Run Again"), t("Open Log"), t("Don't Show Again")];
    const text = endText(run, isMine);
    const chosen =
      endKind(run) === "failure"
        ? // Enter presses the first button, so that isn't the one that uses a run of the day.
          await window.showErrorMessage(text, openLog, ...(isMine ? [again] : []), noMore)
        : await window.showInformationMessage(text, openLog, noMore);
    if (chosen === again) await runAgain();
    if (chosen === openLog) await executeCommand("pipelineRuns.openLog", { runId: run.runId });
    if (chosen === noMore) await this.#announceLess(run, isMine);
  }

  async #announceLess(run: Run, isMine: boolean): Promise<void> {
    const { window, level, setLevel, executeCommand } = this.#deps;
    const before = level();
    await setLevel(quieterLevel(before, run, isMine));
    const [undo, settings] = [t("Undo"), t("Open Settings")];
    const chosen = await window.showInformationMessage(
      t(
        "Runs that end like this are no longer announced. To change that, use the setting pipelineRuns.announce.",
      ),
      undo,
      settings,
    );
    if (chosen === undo) await setLevel(before);
    if (chosen === settings) {
      await executeCommand("workbench.action.openSettings", "pipelineRuns.announce");
    }
  }

  #showInStatusBar(text: string): void {
    this.#deps.window.setStatusBarMessage(text, statusBarTime);
  }

  #logSteps(run: Run, told: Set<number>): void {
    for (const [position, step] of (run.steps ?? []).entries()) {
      if (step.stoppedAt === undefined || told.has(position)) continue;
      told.add(position);
      const { name, status, message } = step;
      const why = message === undefined ? "" : `: ${message}`;
      this.#deps.log.info(`${nameOf(run)}: ${name}: ${status}${why}`);
    }
  }
}

/** Which ends of runs are announced, from the fewest to the most: the values of the setting `pipelineRuns.announce`. */
const announceLevels = ["none", "myFailures", "mine", "failures", "all"] as const;

export type AnnounceLevel = (typeof announceLevels)[number];

/** @param value the unchecked value in the settings. */
export function readAnnounceLevel(value: unknown): AnnounceLevel {
  return announceLevels.find((level) => level === value) ?? "myFailures";
}

/** An unknown status counts as a failure. */
function endKind({ status }: Pick<Run, "status">): "success" | "failure" | "cancelled" {
  return status === "succeeded" ? "success" : status === "cancelled" ? "cancelled" : "failure";
}

/** Whether the end of a run is announced. @param isMine whether this window's key started it. */
function isAnnounced(level: AnnounceLevel, run: Pick<Run, "status">, isMine: boolean): boolean {
  const isFailure = endKind(run) === "failure";
  switch (level) {
    case "none":
      return false;
    case "myFailures":
      return isMine && isFailure;
    case "mine":
      return isMine;
    case "failures":
      return isFailure;
    case "all":
      return true;
  }
}

/** The highest level that leaves out ends like this one and still announces as many others as possible. */
function quieterLevel(level: AnnounceLevel, run: Pick<Run, "status">, isMine: boolean): AnnounceLevel {
  if (endKind(run) !== "failure") return level === "all" ? "failures" : "myFailures";
  return isMine ? "none" : "myFailures";
}

const longestInputs = 60;

/** The end of a run as one sentence, with a short form of its inputs. @param isMine whether this window's key started it. */
export function endText(run: Run, isMine: boolean): string {
  const inputs = inputsText({ inputs: inputsForRerun(run) }, longestInputs);
  const name = inputs === undefined ? nameOf(run) : t("{0} with {1}", nameOf(run), inputs);
  const starter = actorText(run);
  const who = isMine || starter === undefined ? name : t("{0} (by {1})", name, starter);
  const kind = endKind(run);
  switch (kind) {
    case "success": {
      const took = tookText(run.createdAt, run.stoppedAt);
      return took === undefined ? t("{0} succeeded.", who) : t("{0} succeeded in {1}.", who, took);
    }
    case "cancelled":
      return t("{0} was cancelled.", who);
    case "failure": {
      const ended = failureText(run.status, who);
      return run.reason === undefined ? `${ended}.` : `${ended}: ${firstAndLastLine(run.reason)}`;
    }
  }
}

function endStatusText(run: Run): string {
  const icon = { success: "$(check)", failure: "$(error)", cancelled: "$(circle-slash)" }[endKind(run)];
  return `${icon} ${withoutIcons(endText({ ...run, reason: undefined }, true).replace(/\.$/, ""))}`;
}

function failureText(status: string, who: string): string {
  switch (status) {
    case "failed":
      return t("{0} failed", who);
    case "timed-out":
      return t("{0} timed out", who);
    case "lost":
      return t("{0} was lost", who);
    default:
      return t("{0} ended as {1}", who, status);
  }
}
