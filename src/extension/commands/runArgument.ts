import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";

const runSchema = z.object({ runId: z.string().check(z.minLength(1)) });

/**
 * The run that a command is told: by a row of the Runs view, a lens or a keybinding as `{ runId }`, or as the id itself.
 * @returns undefined when it is told none, and the person is to be asked.
 * @throws PipelineError `usage` for anything else.
 */
export function runIdOf(argument: unknown): string | undefined {
  if (argument === undefined || argument === null) return undefined;
  if (typeof argument === "string" && argument !== "") return argument;
  const parsed = runSchema.safeParse(argument);
  if (parsed.success) return parsed.data.runId;
  throw new PipelineError("usage", t("The command was given something that is no run."), {
    next: t('Give it { "runId": "run_…" }, or nothing to be asked.'),
  });
}
