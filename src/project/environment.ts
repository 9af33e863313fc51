import { win32 } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment without what its starter, an editor, a debugger, npm, make or a git hook, has set for its own children. */
export function withoutStarter(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !isForStarterOnly(entry[0], entry[1], env),
  );
  return Object.fromEntries(kept);
}

/**
 * The environment in which git examines a folder: without a hook's variables, which are about the hook's repository. Git doesn't
 * fetch missing objects, for which it might run a program that the repository's settings name.
 */
export function gitEnvironment(env: Environment): Record<string, string> {
  return { ...withoutStarter(env), GIT_ALLOW_PROTOCOL: "none" };
}

/**
 * The variables by which git tells its hooks about their repository (`git rev-parse --local-env-vars`, githooks(5)). Any other
 * `GIT_…` is a person's own.
 */
const ofGit =
  /^GIT_(?:ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|CONFIG_PARAMETERS|DIR|EXEC_PATH|GRAFT_FILE|IMPLICIT_WORK_TREE|INDEX_FILE|INTERNAL_\w+|NO_REPLACE_OBJECTS|OBJECT_DIRECTORY|PREFIX|QUARANTINE_PATH|REFLOG_ACTION|REPLACE_REF_BASE|SHALLOW_FILE|WORK_TREE)$/;

/** What configures this product or its editor, or holds an API key. */
export const ofProduct = /^(?:PIPELINE_API_KEY|PIPELINE_BASE_URL|ELECTRON_RUN_AS_NODE|VSCODE_.*)$/i;

function isForStarterOnly(name: string, value: string, env: Environment): boolean {
  // Names of environment variables are case-insensitive on Windows.
  const upper = name.toUpperCase();
  if (upper === "NODE_OPTIONS") return /--inspect|bootloader/.test(value);
  // A hook must not wait for an editor, but what runs later may open one.
  if (upper === "GIT_EDITOR") return value === ":";
  // A variable that people may set too is dropped only if the program that sets it is there.
  if (name.startsWith("npm_")) return env["npm_execpath"] !== undefined;
  if (upper === "MAKEFLAGS" || upper === "MFLAGS") return env["MAKELEVEL"] !== undefined;
  return (
    ofProduct.test(upper) ||
    /^(?:ELECTRON_|MAKE_TERM)/.test(upper) ||
    ["INIT_CWD", "MAKELEVEL", "MAKEOVERRIDES"].includes(upper) ||
    ofGit.test(upper)
  );
}

/** The variables that a program of ours needs from any starter's environment; none of them is meant for a run. */
const ofAnyStarter =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|XDG_\w+|PIPELINE_(?:BROWSER|CACHE_DIR|CONFIG_DIR|DATA_DIR|EDITOR_RUNTIME|LOG_LEVEL|RETENTION_DAYS|RUN_ID)|ALLUSERSPROFILE|APPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|NUMBER_OF_PROCESSORS|OS|PATHEXT|PROCESSOR_\w+|PROGRAM(?:DATA|FILES|W6432)(?:\(X86\))?|PUBLIC|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP|USERNAME|USERPROFILE|WINDIR)$/;

/** The environment of a service that outlives its starter. */
export function lastingEnvironment(env: Environment): Record<string, string> {
  const kept = Object.entries(withoutStarter(env)).filter(([name]) => {
    const upper = name.toUpperCase();
    // Except on Windows, the folder for temporary files may be the starter's own, and be removed with it.
    const isTemporary = upper === "TEMP" || upper === "TMP";
    return ofAnyStarter.test(upper) && (!isTemporary || process.platform === "win32");
  });
  return Object.fromEntries(kept);
}

/** Where the programs that come with Windows are, below its own folder. */
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
