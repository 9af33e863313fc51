import { PipelineError } from "../../contract/errors.ts";
import { windowsProgram } from "../windowsProgram.ts";

/** What is started, and whether its arguments are passed as they are. */
export interface CommandLine {
  readonly path: string;
  readonly args: readonly string[];
  readonly verbatim: boolean;
}

/**
 * How a program is started without a shell. On Windows a `.cmd` or `.bat` file, such as package managers make, is read by
 * the command interpreter, which finds something to do in many letters, also between quotes: what could be read as
 * anything but a word is not given to it.
 *
 * @throws PipelineError `invalid-request` for a word that can't be passed.
 */
export function commandLine(
  path: string,
  args: readonly string[],
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): CommandLine {
  if (platform !== "win32" || !/\.(?:cmd|bat)$/i.test(path)) return { path, args, verbatim: false };
  const odd = [path, ...args].find((word) => !/^[\p{L}\p{N} ._:\\/@+=,()~-]+$/u.test(word));
  if (odd !== undefined) {
    throw new PipelineError("invalid-request", `"${odd}" can't be passed to a .cmd file safely.`, {
      next: "Set pipelineRuns.cliPath to the tool's .exe.",
    });
  }
  const line = [path, ...args].map((word) => `"${word}"`).join(" ");
  return {
    path: env["ComSpec"] ?? env["COMSPEC"] ?? windowsProgram("cmd.exe", env),
    args: ["/d", "/v:off", "/s", "/c", `"${line}"`],
    verbatim: true,
  };
}
