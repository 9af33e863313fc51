import { exitCodes } from "../../contract/exitCodes.ts";
import { bashScript } from "../completion/bashScript.ts";
import { fishScript } from "../completion/fishScript.ts";
import type { Shell } from "../completion/shells.ts";
import { zshScript } from "../completion/zshScript.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline completion`: the script that a shell reads to complete the tool's words. It asks the tool, by the word that
 * the person called it with, so that what it offers is never older than the tool.
 */
export async function printCompletion({ output }: Tool, shell: Shell): Promise<number> {
  const script = scripts[shell].join("\n");
  output.result("completion", { shell, script }, script);
  return exitCodes.done;
}

const scripts: Readonly<Record<Shell, readonly string[]>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
