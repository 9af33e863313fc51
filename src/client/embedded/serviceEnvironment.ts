type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of an embedded service: the starter's, which its runs' steps then have too, without what belongs to
 * the editor that happened to start it, to a debugger, or to another service.
 */
export function serviceEnvironment(env: Environment, folder: string): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !isForStarterOnly(entry[0], entry[1]),
  );
  return { ...Object.fromEntries(kept), ELECTRON_RUN_AS_NODE: "1", PIPELINE_DATA_DIR: folder };
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
