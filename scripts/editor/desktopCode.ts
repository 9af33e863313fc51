import { execa } from "execa";

/** The desktop VS Code of this machine. */
interface DesktopCode {
  readonly version: string;
  /** Opens a new window on `folder`, with the extension in `extensionFolder` loaded from its source tree. */
  open(extensionFolder: string, folder: string): Promise<void>;
}

/**
 * Finds a `code` on the PATH that can open a window here: one that answers, on a machine with a screen, and not the
 * remote kind that a terminal inside a remote VS Code has, which can't load an extension from a folder.
 */
export async function findDesktopCode(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<DesktopCode | undefined> {
  if (!hasScreen(env) || env["VSCODE_IPC_HOOK_CLI"] !== undefined) return undefined;
  const asked = await execa("code", ["--version"], {
    env,
    reject: false,
    timeout: 20_000,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  const version = /^\d+\.\d+\.\d+/.exec(asked.failed ? "" : asked.stdout)?.[0];
  if (version === undefined) return undefined;
  return {
    version,
    async open(extensionFolder, folder) {
      // The workspace is the project's own: its pipelines may run without a question first.
      const options = [
        `--extensionDevelopmentPath=${extensionFolder}`,
        "--new-window",
        "--disable-workspace-trust",
      ];
      await execa("code", [...options, folder], { env });
    },
  };
}

function hasScreen(env: NodeJS.ProcessEnv): boolean {
  if (process.platform !== "linux") return true;
  // Inside WSL, `code` is the Windows one, which would look for the extension on the other side.
  if (env["WSL_DISTRO_NAME"] !== undefined) return false;
  return env["DISPLAY"] !== undefined || env["WAYLAND_DISPLAY"] !== undefined;
}
