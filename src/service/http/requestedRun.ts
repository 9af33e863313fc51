import { PipelineError } from "../../contract/errors.ts";

/** Said also of another org's run, which must not be told apart. */
export function noSuchRun(runId: string): never {
  throw new PipelineError("not-found", `There is no run \`${runId.slice(0, 100)}\` in this org.`, {
    next: "`pipeline runs list` shows the org's runs.",
  });
}
