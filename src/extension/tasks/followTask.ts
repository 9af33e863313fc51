import { join } from "node:path";
import { t } from "@vscode/l10n";
import { followLog } from "../../client/follow/followLog.ts";
import { followRun } from "../../client/follow/followRun.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import type { Reconnect } from "../../client/service/failedRequest.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { cancelWithRetries } from "../../client/start/cancelRuns.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { LogEntry, LogLine } from "../../contract/log.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { failedStep, isActive } from "../../contract/runStatus.ts";
import { findStep } from "../../pipeline/editing/outline.ts";
import { formatProblem } from "../../pipeline/mistakes/problem.ts";
import { projectFiles } from "../../project/pipelineFiles.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { positionAt } from "../files/analyses.ts";
import { analysisOf } from "../files/fileProblems.ts";
import { firstAndLastLine } from "../window/runText.ts";
import { TaskReport } from "./taskReport.ts";
import { style, type TaskScreen, type TaskSignals } from "./taskTerminal.ts";

/** In seconds: how long the next entry of a stopped run's log may take. */
const restOfLogTimeout = 10;
/** In milliseconds: how long a step's log may arrive after its end. */
const logDelay = 300;

/**
 * Follows a run to its end and prints it with its log. An interrupt cancels it and waits for its end (contract: "The
 * command-line tool").
 * @returns the stopped run; undefined if the service does not report its end.
 * @throws PipelineError when the service stays away, or the run can't be cancelled; the reason of `signals.leaving`.
 */
export async function followTask(
  client: ServiceClient,
  started: Run,
  deps: {
    readonly screen: TaskScreen;
    readonly signals: TaskSignals;
    readonly reconnect: Reconnect | undefined;
  },
): Promise<Run | undefined> {
  const { screen, signals } = deps;
  let service = client;
  const find = deps.reconnect;
  const reconnect: Reconnect | undefined =
    find &&
    (async (signal) => {
      service = await find(signal);
      return service;
    });
  const story = new TaskReport(screen, started);
  const stop = new AbortController();
  const leave = (): void => stop.abort(signals.leaving.reason);
  const cancel = (): void => {
    screen.line(style.dim(t("Cancelling. Press Ctrl+C again to leave without waiting for the run to end.")));
    cancelWithRetries(() => service, reconnect, started.runId, stop.signal).catch((error: unknown) =>
      stop.abort(error),
    );
  };
  signals.leaving.addEventListener("abort", leave, { once: true });
  if (signals.interrupted.aborted) cancel();
  else signals.interrupted.addEventListener("abort", cancel, { once: true });
  const logOver = new AbortController();
  using patience = new Deadline(client.clock, logOver.signal);
  let hasEnded = false;
  const log = new TaskLog(client, story, screen, reconnect, () => {
    if (hasEnded) patience.arm(restOfLogTimeout);
  });
  const reading = log.read(patience.signal);
  try {
    const onChange = (run: Run): void => {
      story.update(run);
      // At the run's end the whole log is awaited.
      const settle = () => isActive(story.run) && story.settle();
      client.clock.sleep(logDelay, stop.signal).then(settle, () => undefined);
    };
    story.update(await followRun(client, started, onChange, stop.signal, reconnect));
    hasEnded = true;
    patience.arm(restOfLogTimeout);
    await reading;
    story.end();
    return story.run;
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { host } = client.baseUrl;
    screen.line(
      style.dim(
        t(
          "{0} was started. {1} doesn't report how runs end.",
          replaceControlCharacters(nameOf(started)),
          host,
        ),
      ),
    );
    return undefined;
  } finally {
    signals.leaving.removeEventListener("abort", leave);
    signals.interrupted.removeEventListener("abort", cancel);
    stop.abort();
    logOver.abort();
    await reading;
  }
}

/** The position at which a run failed. */
interface FailedPosition {
  /** The pipeline file, absolute. */
  readonly file: string;
  readonly line: string;
}

/**
 * The failed step as a line that the problem matcher reads; undefined if the file is not here or no longer has the step.
 * @param folder to which the problem matcher resolves paths; a file elsewhere is named in full.
 */
export async function failedStepLine(
  run: Run,
  root: string,
  folder: string | undefined,
): Promise<FailedPosition | undefined> {
  const failed = failedStep(run);
  if (failed === undefined) return undefined;
  const file = (await projectFiles(root)).find(({ name }) => name === run.pipeline);
  if (file?.text === undefined) return undefined;
  const { index, step } = failed;
  const { outline, text } = analysisOf(file);
  const there = findStep(outline, file.parsed, { name: step.name, index });
  if (there === undefined) return undefined;
  const { line, character } = positionAt(text, there.span.start);
  const message = `${step.name}: ${firstAndLastLine(step.message ?? run.reason ?? run.status)}`;
  const whole = join(root, file.path);
  const path = root === folder ? file.path : whole;
  return { file: whole, line: formatProblem(path, { line: line + 1, column: character + 1, message }) };
}

/** Prints a run's log to its end; says if it can't be read. */
class TaskLog {
  readonly #client: ServiceClient;
  readonly #story: TaskReport;
  readonly #screen: TaskScreen;
  readonly #reconnect: Reconnect | undefined;
  readonly #onEntry: () => void;
  readonly #apiKeys: Set<string>;
  readonly #lines: TerminalLines;
  /** One line after the other, since a step's name may have to be read. */
  #printing: Promise<void> = Promise.resolve();
  #asked: number | undefined;

  constructor(
    client: ServiceClient,
    story: TaskReport,
    screen: TaskScreen,
    reconnect: Reconnect | undefined,
    onEntry: () => void,
  ) {
    this.#client = client;
    this.#story = story;
    this.#screen = screen;
    this.#reconnect = reconnect;
    this.#onEntry = onEntry;
    this.#apiKeys = new Set([client.apiKey]);
    this.#lines = new TerminalLines({ hasColor: true, apiKeys: this.#apiKeys });
  }

  /** Resolves when the log is complete or can't be read. @param signal ends it early, silently. */
  async read(signal: AbortSignal): Promise<void> {
    let problem: string | undefined;
    const add = async (entry: LogEntry): Promise<void> => {
      this.#onEntry();
      this.#print(this.#lines.add(entry), signal);
      await this.#printing;
    };
    const find = this.#reconnect;
    const reconnect: Reconnect = async (signal) => {
      const found = (await find?.(signal)) ?? this.#client;
      this.#apiKeys.add(found.apiKey);
      return found;
    };
    const onGap = (first: number, last: number): void => {
      this.#screen.line(style.dim(t("The service left out the log's entries {0} to {1}.", first, last)));
    };
    try {
      const options = { follow: true, reconnect, onGap };
      await followLog(this.#client, this.#story.run.runId, options, add, signal);
    } catch (error) {
      if (signal.reason instanceof DeadlinePassed) problem = t("The rest of the log did not arrive in time.");
      // A service without logs misses none.
      else if (!signal.aborted && !hasNoLogs(error)) {
        problem = t("The log can't be read: {0}", describeError(error));
      }
    }
    this.#print(this.#lines.rest(), signal);
    await this.#printing;
    if (problem !== undefined) this.#screen.line(style.dim(problem));
  }

  #print(lines: readonly LogLine[], signal: AbortSignal): void {
    if (lines.length === 0) return;
    this.#printing = this.#printing.then(async () => {
      for (const line of lines) {
        await this.#learnName(line.stepIndex, signal);
        this.#story.line(line);
      }
    });
  }

  /** A line may come before its step is reported. A service that doesn't report steps is not asked for each line. */
  async #learnName(stepIndex: number, signal: AbortSignal): Promise<void> {
    if (this.#story.knows(stepIndex) || this.#asked === stepIndex) return;
    this.#asked = stepIndex;
    try {
      this.#story.update(await this.#client.run(this.#story.run.runId, signal));
    } catch {
      // The step is then named by its number.
    }
  }
}

/** Of a run that was just started, no log was removed. */
function hasNoLogs(error: unknown): boolean {
  return error instanceof PipelineError && (error.type === "not-supported" || error.type === "not-found");
}
