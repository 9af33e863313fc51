import { spawn } from "node:child_process";
import { windowsProgram } from "../client/windowsProgram.ts";

/**
 * Hands an address to the browser of `BROWSER`, else to the system's own.
 * @returns whether the program that opens it could be started; what it does then is its own.
 */
export function openInBrowser(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const [program, ...args] = opener(env, process.platform);
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true, windowsHide: true });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** The program that opens an address, and its arguments before that. */
export function opener(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): readonly [string, ...string[]] {
  const { BROWSER: chosen } = env;
  if (chosen !== undefined && chosen !== "") return [chosen];
  switch (platform) {
    case "darwin":
      return ["open"];
    case "win32":
      // No shell, to which an address could mean more than an address.
      return [windowsProgram("rundll32.exe", env), "url.dll,FileProtocolHandler"];
    default:
      return ["xdg-open"];
  }
}
