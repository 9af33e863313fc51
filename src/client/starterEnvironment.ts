export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment for a program that a face starts: the face's own without what belongs to the editor that it may be
 * part of, to a debugger, or to a service of its choice.
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
