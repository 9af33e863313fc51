import type { LogLine } from "../contract/log.ts";
import type { Run } from "../contract/run.ts";
import { failedStep } from "../contract/runStatus.ts";
import { stripEscapeSequences } from "./escapeSequences.ts";

/** In lines. A step's message repeats fewer of its last lines. */
const mostRepeated = 50;

/** Why a step failed. */
export interface Failure {
  readonly stepIndex: number;
  /** When it stopped, RFC 3339. */
  readonly at: string;
  readonly text: string;
}

/**
 * The messages of a run's failed steps: the one that the run failed at and any that it continued after. For a step that was cut
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

/** A log followed by why its steps failed: the log holds only what steps did and printed. */
export class FailureLines {
  readonly #last = new Map<number, string[]>();

  /** Takes a line of the log. */
  add({ stepIndex, text }: LogLine): void {
    const last = this.#last.get(stepIndex) ?? [];
    if (last.length === 0) this.#last.set(stepIndex, last);
    last.push(text);
    if (last.length > mostRepeated) last.shift();
  }

  /** The failures, line by line, without lines that the log already has. */
  notInLog(failures: readonly Failure[]): Failure[] {
    return failures.flatMap((failure) => {
      const last = this.#last.get(failure.stepIndex) ?? [];
      const printed = last.map((line) => stripEscapeSequences(line).trimEnd());
      return withoutRepeatedLines(failure.text.split(/\r?\n/), printed).map((text) => ({ ...failure, text }));
    });
  }
}

/** The lines of a failed step's message, without those that repeat its output. */
export function withoutRepeatedLines(message: readonly string[], printed: Iterable<string>): string[] {
  const repeated = new Set(printed);
  const said = message.filter((line) => line.trim() !== "");
  const own = said.filter((line, at) => at === 0 || !repeated.has(line.trimEnd()));
  // A trailing colon would introduce lines that were removed.
  return own.length === 1 && said.length > 1 ? own.map((line) => line.replace(/:$/, "")) : own;
}
