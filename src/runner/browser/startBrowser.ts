import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm, rmdir } from "node:fs/promises";
import { dirname, join, posix, resolve, win32 } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import type { BrowserContext } from "playwright-core";
import type { BrowserStep } from "../../pipeline/types/browserStep.ts";
import { userWithColon } from "../../pipeline/types/httpStep.ts";
import { isRunning } from "../cli/program.ts";
import type { Mask } from "../mask/mask.ts";
import { shorten } from "../output/readableText.ts";
import { killProgram } from "../processes/endProcesses.ts";
import { runMarker } from "../processes/processTable.ts";
import { makeScratch, scratchFolder } from "../processes/scratchFolder.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { isProgram, onPath, variable } from "../step/stepEnvironment.ts";

/** A browser with a temporary profile, which is removed with it. */
export interface StartedBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  /** The browser's own folder, removed with it. */
  readonly folder: string;
}

const launchMilliseconds = 30_000;
/** How long the browser may take to close before it is killed, in milliseconds. Its profile needs no saving. */
const closeMilliseconds = 1000;

/** @throws StepFault when there is no browser. */
export async function startBrowser(
  { auth, executable, device = "", viewport }: BrowserStep["browser"],
  stepContext: StepContext,
): Promise<StartedBrowser> {
  if (auth?.user.includes(":")) throw new StepFault(userWithColon);
  const program = findBrowser({ ...stepContext, executable });
  // Loaded on demand: it is several megabytes. The build puts it beside the runner's program (esbuild.mjs).
  const { chromium, devices } = await import("playwright-core");
  const scratch = scratchFolder(stepContext.environment[runMarker] ?? "");
  await makeScratch(scratch);
  const folder = await mkdtemp(join(scratch, "b-"));
  let browser: ChildProcess | undefined;
  using _ = watchSpawns((child, pid) => {
    browser ??= child;
    stepContext.onSpawned(pid);
  });
  try {
    const emulated = devices[device];
    const context = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: program,
      tracesDir: join(folder, "traces"),
      artifactsDir: join(folder, "artifacts"),
      env: environmentIn(scratch, stepContext),
      ...emulated,
      ...(auth && { httpCredentials: credentialsOf(auth) }),
      viewport: viewport ?? emulated?.viewport ?? null,
      timeout: launchMilliseconds,
      acceptDownloads: true,
      // On Linux the browser's sandbox doesn't work for root.
      chromiumSandbox: stepContext.platform !== "linux" || process.getuid?.() !== 0,
      // The runner handles signals itself.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    stepContext.log.note(`started ${program}`);
    return {
      context,
      folder,
      [Symbol.asyncDispose]: async () => {
        await endBrowser(context, browser);
        await removeFolder(folder);
      },
    };
  } catch (error) {
    browser?.kill("SIGKILL");
    await removeFolder(folder);
    throw new StepFault(describeLaunchProblem(program, error, stepContext.mask));
  }
}

function credentialsOf({ user, password, base }: NonNullable<BrowserStep["browser"]["auth"]>) {
  const origin = base === undefined ? undefined : (URL.parse(base)?.origin ?? base);
  return { username: user, password, ...(origin !== undefined && { origin }) };
}

/** The longest socket path on Linux, minus what the browser appends. */
const longestFolder = 107 - "/org.chromium.Chromium.XXXXXX/SingletonSocket".length;

/** On Linux a killed browser leaves its socket in the temporary folder, so that is set to the run's own. */
function environmentIn(scratch: string, { environment, platform }: StepContext): Record<string, string> {
  const isUseful = platform === "linux" && scratch.length <= longestFolder;
  return { ...environment, ...(isUseful ? { TMPDIR: scratch } : {}) };
}

async function endBrowser(context: BrowserContext, browser: ChildProcess | undefined): Promise<void> {
  const closed = context.close().catch(() => {
    // Ignored: it has exited, or is killed below.
  });
  if (browser?.pid === undefined) return closed;
  const exited = isRunning(browser) ? once(browser, "exit") : undefined;
  await Promise.race([exited, pause(closeMilliseconds, undefined, { ref: false })]);
  // The processes of its group may still write into its profile.
  killProgram(browser.pid);
  await exited;
}

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  // Ignored: the folder isn't empty while another browser of the run is open.
  await rmdir(dirname(folder)).catch(() => {});
}

const longestWords = 300;

function describeLaunchProblem(path: string, error: unknown, mask: Mask): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/No usable sandbox|setuid sandbox|SUID sandbox/i.test(message)) {
    return `${path} can't use its sandbox on this machine: allow its users namespaces of their own (the browser's own words: ${lastWords(message, mask)})`;
  }
  if (/Timeout .*exceeded/.test(message)) return `${path} was started, but didn't become ready within 30 s`;
  if (/Failed to launch: Error: spawn \S+ (EACCES|ENOEXEC)/.test(message)) {
    return `${path} can't be executed; a browser's \`executable\` is its program`;
  }
  return `${path} ended as soon as it was started: ${lastWords(message, mask)}`;
}

function lastWords(message: string, mask: Mask): string {
  const lines = stripVTControlCharacters(message).split("\n");
  const written = lines.flatMap((line) => /\[pid=\d+\]\[(?:err|out)\] (.+)$/.exec(line)?.[1] ?? []);
  const said = written.at(-1) ?? lines[0]?.replace(/^.*?: /, "") ?? "";
  return shorten(mask.hide(said), longestWords);
}

/**
 * Calls `onSpawned` for each process that this one spawns, until it is disposed. The driver doesn't expose the browser's
 * process, but Node publishes it.
 */
function watchSpawns(onSpawned: (child: ChildProcess, pid: number) => void): Disposable {
  const listen = (message: unknown): void => {
    const child = typeof message === "object" && message !== null && "process" in message && message.process;
    if (!(child instanceof ChildProcess)) return;
    child.once("spawn", () => {
      if (child.pid !== undefined) onSpawned(child, child.pid);
    });
  };
  subscribe("child_process", listen);
  return { [Symbol.dispose]: () => void unsubscribe("child_process", listen) };
}

interface Place extends Pick<StepContext, "root" | "environment" | "platform"> {
  /** From the pipeline file: a path relative to `root`, or a program on the PATH. */
  readonly executable: string | undefined;
}

/** The variable that names a browser for pipelines that name none. */
const browserVariable = "PIPELINE_BROWSER";

const namesOnLinux = [
  "google-chrome-stable",
  "google-chrome",
  "chromium",
  "chromium-browser",
  "microsoft-edge-stable",
  "microsoft-edge",
];
const foldersOnLinux = ["/usr/bin", "/usr/local/bin", "/snap/bin"];
const programsOnLinux = ["/opt/google/chrome/chrome", "/opt/microsoft/msedge/msedge"];

const appsOnMac = ["Google Chrome", "Chromium", "Microsoft Edge"];

const programsOnWindows = [
  "Google\\Chrome\\Application\\chrome.exe",
  "Chromium\\Application\\chrome.exe",
  "Microsoft\\Edge\\Application\\msedge.exe",
];

/** The browser that the file or the environment names, else this machine's own. @throws StepFault when there is none. */
export function findBrowser(place: Place): string {
  const { executable } = place;
  if (executable !== undefined) return named(executable, `the resource's \`executable\``, place);
  const chosen = variable(place.environment, browserVariable, place.platform);
  if (chosen !== undefined && chosen !== "") return named(chosen, browserVariable, place);
  const path = usualPrograms(place).find(isProgram);
  if (path !== undefined) return path;
  throw new StepFault(
    "there is no browser on this machine: neither Chrome, Chromium nor Edge is where they are usually installed" +
      `${place.platform === "linux" ? " or on the PATH" : ""}; install one of them, or put the path of one into \`${browserVariable}\` or the resource's \`executable\``,
  );
}

function named(written: string, by: string, { environment, platform, root }: Place): string {
  const isPath = written.includes("/") || (platform === "win32" && written.includes("\\"));
  const name = platform === "win32" ? written.replace(/\.exe$/i, "") : written;
  const path = isPath ? [resolve(root, written)].find(isProgram) : onPath(name, environment, platform);
  if (path !== undefined) return path;
  const where = isPath ? "" : " on the PATH";
  throw new StepFault(`${by} is \`${written}\`, but there is no such program${where}`);
}

function usualPrograms(place: Place): string[] {
  const get = (name: string) => variable(place.environment, name, place.platform);
  switch (place.platform) {
    case "darwin": {
      const folders = ["/Applications", posix.join(get("HOME") ?? "/", "Applications")];
      return inEach(folders, appsOnMac, (folder, app) =>
        posix.join(folder, `${app}.app`, "Contents/MacOS", app),
      );
    }
    case "win32": {
      const folders = ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"].flatMap(
        (name) => get(name) ?? [],
      );
      return inEach(folders, programsOnWindows, win32.join);
    }
    default:
      return [
        ...namesOnLinux.flatMap((name) => onPath(name, place.environment, place.platform) ?? []),
        ...inEach(foldersOnLinux, namesOnLinux, posix.join),
        ...programsOnLinux,
      ];
  }
}

/** Ordered by name, so that a better browser in a later folder is preferred. */
function inEach(
  folders: readonly string[],
  names: readonly string[],
  join: (folder: string, name: string) => string,
): string[] {
  return names.flatMap((name) => folders.map((folder) => join(folder, name)));
}
