import { homedir } from "node:os";
import { t } from "@vscode/l10n";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { ForeignTool } from "../../client/tool/foreignTool.ts";
import { checkToolPath } from "../../client/tool/toolPath.ts";
import { PipelineError } from "../../contract/errors.ts";

export interface OwnToolDeps {
  /** The setting `pipelineRuns.cliPath`; undefined when it names none. */
  readonly cliPath: () => string | undefined;
  /** The window's folders on this machine: whoever wrote their files must not supply the program. */
  readonly folders: () => readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The service's own command-line tool, which is given the key.
 * @param root the folder that it works in; the person's own when undefined.
 * @throws PipelineError `usage` when the setting names none; as `checkToolPath`.
 */
export async function ownTool(
  client: ServiceClient,
  root: string | undefined,
  deps: OwnToolDeps,
): Promise<ForeignTool> {
  const cliPath = deps.cliPath();
  if (cliPath === undefined) {
    throw new PipelineError(
      "usage",
      t("{0} starts and lists its runs only through its own command-line tool.", client.baseUrl.host),
      { next: t("Set pipelineRuns.cliPath to that tool.") },
    );
  }
  await checkToolPath(cliPath, deps.folders());
  return {
    cliPath,
    baseUrl: client.baseUrl,
    apiKey: client.apiKey,
    cwd: root ?? homedir(),
    env: deps.env,
  };
}
