import type { LogLine } from "../contract/log.ts";
import type { Run } from "../contract/run.ts";
import { failedStep } from "../contract/runStatus.ts";
import { stripEscapeSequences } from "./escapeSequences.ts";

/** In lines: a step's message repeats fewer of its last ones. */
const mostRepeated = 50;

/** Why a step failed. */
export interface Failure {
  readonly stepIndex: number;
  /** When it stopped, RFC 3339. */
  readonly at: string;
  readonly text: string;
}

/**
 * The messages of a run's failed steps: of the one that the run failed at, and those after which it went on. For one that was cut
 * off, as by the time limit, the run's reason.
 */
export function failuresOf(run: Pick<Run, "status" | "stoppedAt" | "steps" | "reason">): Failure[] {
  const { steps = [], stoppedAt = "", reason } = run;
  const failed = failedStep(run)?.index;
  return steps.flatMap(({ name, status, message, stoppedAt: at = stoppedAt }, stepIndex) => {
    const why = { stepIndex, at };
    if (message !== undefined && (status === "failed" || stepIndex === failed))
      return [{ ...why, text: `${name} ${status}: ${message}` }];
    return stepIndex === failed && reason !== undefined ? [{ ...why, text: `${run.status}: ${reason}` }] : [];
  });
}

/** A log, and behind it why steps failed: that isn't in the log, which has what they did and printed. */
export class FailureLines {
  readonly #last = new Map<number, string[]>();

  /** Takes a line of the log. */
  add({ stepIndex, text }: LogLine): void {
    const last = this.#last.get(stepIndex) ?? [];
    if (last.length === 0) this.#last.set(stepIndex, last);
    last.push(text);
    if (last.length > mostRepeated) last.shift();
  }

  /** The failures, line by line, without what they repeat of the log. */
  beside(failures: readonly Failure[]): Failure[] {
    return failures.flatMap((failure) => {
      const last = this.#last.get(failure.stepIndex) ?? [];
      const printed = last.map((line) => stripEscapeSequences(line).trimEnd());
      return untold(failure.text.split(/\r?\n/), printed).map((text) => ({ ...failure, text }));
    });
  }
}

/** The lines of a failed step's message without those that its output has, which it repeats. */
export function untold(message: readonly string[], printed: Iterable<string>): string[] {
  const repeated = new Set(printed);
  const said = message.filter((line) => line.trim() !== "");
  const own = said.filter((line, at) => at === 0 || !repeated.has(line.trimEnd()));
  // A colon before lines that were removed would lead nowhere.
  return own.length === 1 && said.length > 1 ? own.map((line) => line.replace(/:$/, "")) : own;
}
