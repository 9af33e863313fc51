import { win32 } from "node:path";

/** Where the programs that come with Windows lie, below its own folder. */
const places = {
  "cmd.exe": "System32",
  "powershell.exe": "System32\\WindowsPowerShell\\v1.0",
  "rundll32.exe": "System32",
  "taskkill.exe": "System32",
} as const;

/**
 * The whole path of a program that comes with Windows. By its name alone a file of that name in the working folder would be
 * run before it, and that folder may be anyone's.
 */
export function windowsProgram(
  name: keyof typeof places,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return win32.join(env["SystemRoot"] ?? env["windir"] ?? "C:\\Windows", places[name], name);
}
