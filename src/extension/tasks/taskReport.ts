import { t } from "@vscode/l10n";
import type { LogLine } from "../../contract/log.ts";
import { nameOf, type Run, type RunStep } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { replaceControlCharacters, sanitizeForTerminal } from "../../text/controlCharacters.ts";
import { tookText } from "../window/runText.ts";
import { style, type TaskScreen } from "./taskTerminal.ts";

/**
 * Prints a run in a task's terminal: each step's name, its output, and its end. The run and its log arrive over two
 * connections, so a step's end is printed once the log reaches a later step, or on `settle`.
 */
export class TaskReport {
  readonly #screen: TaskScreen;
  #run: Run;
  /** The step whose name was printed last. */
  #currentStep: number | undefined;
  /** The number of steps whose ends are printed. */
  #endsPrinted = 0;

  constructor(screen: TaskScreen, run: Run) {
    this.#screen = screen;
    this.#run = run;
    screen.line(
      style.dim(
        t("{0} started: {1}", replaceControlCharacters(nameOf(run)), replaceControlCharacters(run.runId)),
      ),
    );
  }

  /** The run as last reported. */
  get run(): Run {
    return this.#run;
  }

  /** Whether a step's name is known. */
  knows(stepIndex: number): boolean {
    return this.#run.steps?.[stepIndex] !== undefined;
  }

  /** Takes the run's state; an older reply may come after its end. */
  update(run: Run): void {
    if (isActive(this.#run) || !isActive(run)) this.#run = run;
  }

  line({ stepIndex, stream, text }: LogLine): void {
    this.#printStepEnds(stepIndex);
    this.#printStepStart(stepIndex);
    this.#screen.line(stream === "note" ? style.dim(text) : text);
  }

  /** Prints the ends of all ended steps: their log had its time. */
  settle(): void {
    this.#printStepEnds(Number.POSITIVE_INFINITY);
    const next = this.#run.steps?.[this.#endsPrinted];
    if (next?.startedAt !== undefined && isActive(this.#run)) this.#printStepStart(this.#endsPrinted);
  }

  end(): void {
    this.settle();
    const { status, createdAt, stoppedAt, reason, steps = [] } = this.#run;
    const name = replaceControlCharacters(nameOf(this.#run));
    const took = tookText(createdAt, stoppedAt);
    const how =
      took === undefined
        ? `${name}: ${replaceControlCharacters(status)}`
        : endIn(name, replaceControlCharacters(status), took);
    // A step's message repeats the reason, and is above.
    if (reason !== undefined && !steps.some(({ message }) => message !== undefined)) {
      this.#screen.line(sanitizeForTerminal(reason, false));
    }
    this.#screen.line(style.bold(status === "succeeded" ? style.good(how) : style.bad(how)));
  }

  #printStepStart(stepIndex: number): void {
    if (stepIndex === this.#currentStep) return;
    const name = this.#run.steps?.[stepIndex]?.name ?? t("step {0}", stepIndex + 1);
    this.#screen.line(style.bold(`▸ ${replaceControlCharacters(name)}`));
    this.#currentStep = stepIndex;
  }

  #printStepEnds(before: number): void {
    for (const [index, step] of (this.#run.steps ?? []).entries()) {
      if (index >= before) return;
      if (index < this.#endsPrinted) continue;
      if (step.stoppedAt === undefined) return;
      this.#endsPrinted = index + 1;
      this.#currentStep = undefined;
      this.#screen.line(endOf(step));
    }
  }
}

function endIn(name: string, status: string, took: string): string {
  return t("{0}: {1} in {2}", name, status, took);
}

function endOf({ name, status, startedAt, stoppedAt, message }: RunStep): string {
  const isGood = status === "succeeded";
  const mark = isGood ? style.good("✓") : style.bad("✗");
  const took = tookText(startedAt, stoppedAt);
  const time = took === undefined ? "" : style.dim(` (${took})`);
  const why =
    isGood || message === undefined
      ? ""
      : `\n    ${sanitizeForTerminal(message, false).replaceAll("\n", "\n    ")}`;
  return `${mark} ${replaceControlCharacters(name)}${time}${why}`;
}
