import { runTests } from "@vscode/test-electron";
import { quietSettings, writeFirstSettings } from "../../../scripts/editor/serverFolders.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import type { InHostOptions } from "./inHostOptions.ts";

/**
 * Runs the same suite inside a desktop VS Code, which is downloaded into `.vscode-test/`. It needs a network and a
 * screen (a virtual one does on Linux), so it is for a contributor's machine and for public CI.
 * @param version a version, or "stable".
 * @returns 0 when every test passed.
 */
export async function runDesktop(options: InHostOptions, version: string): Promise<number> {
  await using userData = await TemporaryFolder.make("pipeline-runs-desktop");
  await using empty = await TemporaryFolder.make("pipeline-runs-workspace");
  await writeFirstSettings(userData.path, { ...quietSettings, ...options.settings });
  return runTests({
    version,
    extensionDevelopmentPath: options.extensionFolder,
    extensionTestsPath: options.suite,
    extensionTestsEnv: options.env ?? {},
    launchArgs: [
      options.folder ?? empty.path,
      `--user-data-dir=${userData.path}`,
      "--disable-extensions",
      "--disable-workspace-trust",
      "--skip-welcome",
    ],
  });
}
