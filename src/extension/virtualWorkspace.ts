import { t } from "@vscode/l10n";
import type { WorkspaceFolder } from "vscode";
import { PipelineError } from "../contract/errors.ts";

/**
 * This machine's own service runs files of this machine. A window that has only folders from elsewhere starts none.
 * @throws PipelineError `not-supported` for such a window.
 */
export function refuseVirtual(folders: readonly Pick<WorkspaceFolder, "uri">[] | undefined): void {
  if (folders === undefined || folders.length === 0) return;
  if (folders.some(({ uri }) => uri.scheme === "file")) return;
  throw new PipelineError(
    "not-supported",
    t("The files of this workspace are not on this machine, so its own service can't run their pipelines."),
    { next: t("Set pipelineRuns.baseUrl to a service that knows them, or open a folder of this machine.") },
  );
}
