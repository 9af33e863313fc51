import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Environment, windowsProgram } from "../../project/environment.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline page`: prints a link that signs a browser in to the page, at a run if one is named. Opening it is an option, since
 * that shows the link in the process list for a moment.
 */
export async function showPage(tool: Tool, options: { readonly open?: true }, runId?: string): Promise<void> {
  const client = await tool.connect();
  // Checked before the link, which is valid for a minute, so that a missing run is reported here and not in the browser.
  if (runId !== undefined) await client.run(runId, tool.interrupted);
  const link = new URL((await client.signInLink(tool.interrupted)).url);
  if (runId !== undefined) {
    const page = new URL(`app/runs/${encodeURIComponent(runId)}`, client.baseUrl);
    link.searchParams.set("next", page.pathname);
  }
  const url = link.href;
  tool.output.exactResult("page", { url }, url);
  if (!tool.output.json) tool.output.note("It works once, within a minute.");
  if (options.open && !(await openInBrowser(url, tool.env))) {
    tool.output.note("No browser could be opened: open the link yourself.");
  }
}

/**
 * Opens an address in the browser that `BROWSER` names, else in the default browser.
 * @returns whether the program could be started, not whether it opened the page.
 */
async function openInBrowser(url: string, env: Environment): Promise<boolean> {
  const [program, ...args] = opener(env, process.platform);
  try {
    const child = spawn(program, [...args, url], { stdio: "ignore", detached: true, windowsHide: true });
    await once(child, "spawn");
    child.unref();
    return true;
  } catch {
    // `spawn` throws some faults synchronously, such as a file in PATH.
    return false;
  }
}

/** The program that opens an address, and the arguments before the address. */
export function opener(env: Environment, platform: NodeJS.Platform): readonly [string, ...string[]] {
  const { BROWSER: chosen } = env;
  if (chosen !== undefined && chosen !== "") return [chosen];
  switch (platform) {
    case "darwin":
      return ["open"];
    case "win32":
      // Not through a shell, which could interpret parts of the address.
      return [windowsProgram("rundll32.exe", env), "url.dll,FileProtocolHandler"];
    default:
      return ["xdg-open"];
  }
}
