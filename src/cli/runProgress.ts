import type { Run, Step } from "../contract/run.ts";
import { duration } from "./duration.ts";
import type { Output } from "./output.ts";

/** Tells a run's steps as they end, one line each, on standard error. */
export class RunProgress {
  readonly #output: Output;
  readonly #pipeline: string;
  #told = 0;

  constructor(output: Output, { pipeline, runId }: Run) {
    this.#output = output;
    this.#pipeline = pipeline;
    output.note(`${pipeline}: ${runId} started`);
  }

  show(run: Run): void {
    const steps = run.steps ?? [];
    for (const step of steps.slice(this.#told)) {
      if (step.stoppedAt === undefined) {
        if (run.stoppedAt === undefined) this.#output.passing(`${this.#pipeline}: ${step.name} …`);
        return;
      }
      this.#output.note(line(step));
      this.#told += 1;
    }
  }

  end(run: Run): void {
    this.show(run);
    const took =
      run.stoppedAt === undefined
        ? ""
        : ` in ${duration(Date.parse(run.stoppedAt) - Date.parse(run.createdAt))}`;
    this.#output.note(`${this.#pipeline}: ${run.status}${took}`);
  }
}

function line({ name, status, startedAt, stoppedAt, message }: Step): string {
  const mark = status === "succeeded" ? "✓" : "✗";
  const took =
    startedAt === undefined || stoppedAt === undefined
      ? ""
      : ` (${duration(Date.parse(stoppedAt) - Date.parse(startedAt))})`;
  const told =
    status === "succeeded" || message === undefined ? "" : `\n    ${message.replaceAll("\n", "\n    ")}`;
  return `  ${mark} ${name}${took}${told}`;
}
