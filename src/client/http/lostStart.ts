import { PipelineError } from "../../contract/errors.ts";
import { runCommand } from "../../contract/refusal.ts";

/** A start whose answer was lost or can't be read, so that there may be a run of it, also of one that seems to have failed. */
export class LostStart extends PipelineError {
  /** Where the answer could be read that far; that run was started for certain. */
  readonly runId: string | undefined;

  /** @param cause why the answer isn't known; its words are kept. */
  constructor(cause: PipelineError, runId?: string) {
    const next =
      runId === undefined
        ? "A run may have been started all the same: look at `pipeline runs list --in-work` before you try again."
        : `The run ${runId} was started all the same: \`${runCommand("show", runId)}\` tells of it, and \`${runCommand("cancel", runId)}\` ends it.`;
    super(cause.type, cause.message, { cause, next });
    this.runId = runId;
  }
}
