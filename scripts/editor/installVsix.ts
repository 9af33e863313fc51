import { Problem } from "../problem.ts";
import { runLeashed } from "../process/leashed.ts";
import type { EditorHost } from "./installHost.ts";
import { serverEnvironment } from "./serverEnvironment.ts";
import { folderArguments } from "./serverFolders.ts";

/**
 * Installs a packaged extension for the servers of `dataFolder`, over any earlier one of the same name.
 * @throws Problem with what VS Code said, when it refuses the package.
 */
export async function installVsix(
  host: EditorHost,
  dataFolder: string,
  vsix: string,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await runLeashed(
    process.execPath,
    [
      host.serverMain,
      ...(await folderArguments(dataFolder, false, host.serverMain)),
      ...["--install-extension", vsix, "--force", "--telemetry-level", "off"],
      "--accept-server-license-terms",
    ],
    { env: serverEnvironment() },
    signal,
  );
  if (exitCode === 0) return;
  const reason = /^Error: (.+)$/m.exec(output)?.[1] ?? (output.trim() || "it wrote nothing");
  throw new Problem(
    `VS Code could not install ${vsix}: ${reason.replace(/\.$/, "")}.`,
    'Build it again with "npm run build && npm run package", and look whether the disk is full.',
  );
}
