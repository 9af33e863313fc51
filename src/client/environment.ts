import { win32 } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment for a program that a face starts: the face's own without the variables of the editor, of a debugger and of
 * the service in use.
 */
export function withoutStarter(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !isForStarterOnly(entry[0], entry[1]),
  );
  return Object.fromEntries(kept);
}

function isForStarterOnly(name: string, value: string): boolean {
  // Names of environment variables are case-insensitive on Windows.
  const upper = name.toUpperCase();
  if (upper === "NODE_OPTIONS") return /--inspect|bootloader/.test(value);
  return (
    upper.startsWith("VSCODE_") ||
    upper.startsWith("ELECTRON_") ||
    upper === "PIPELINE_API_KEY" ||
    upper === "PIPELINE_BASE_URL" ||
    upper === "PIPELINE_DATA_DIR"
  );
}

/** The PATH; on Windows its name is case-insensitive. */
export function pathOf(env: Environment): string | undefined {
  return Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1];
}

/** Where the programs that come with Windows lie, below its own folder. */
const places = {
  "cmd.exe": "System32",
  "powershell.exe": "System32\\WindowsPowerShell\\v1.0",
  "rundll32.exe": "System32",
  "taskkill.exe": "System32",
} as const;

/**
 * The full path of a program that comes with Windows: by its name alone, a file in the working folder would run first.
 */
export function windowsProgram(name: keyof typeof places, env: Environment): string {
  return win32.join(env["SystemRoot"] ?? env["windir"] ?? "C:\\Windows", places[name], name);
}
