import { access, constants, stat } from "node:fs/promises";
import { posix, resolve, win32 } from "node:path";
import { variable } from "../stepEnvironment.ts";

/** Where to look for a browser. */
interface Place {
  /** What the pipeline file says: a path against `root`, or a program on the PATH. */
  readonly executable: string | undefined;
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
}

/** A browser's program, or one sentence on why there is none and what to do. */
type FoundBrowser =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "none"; readonly problem: string };

/** Names a browser for every pipeline on this machine that names none. */
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

/** The browser that the pipeline file or the environment names, else this machine's Chrome, Chromium or Edge. */
export async function findBrowser(place: Place): Promise<FoundBrowser> {
  const { executable } = place;
  if (executable !== undefined) return named(executable, `the resource's \`executable\``, place);
  const chosen = variable(place.environment, browserVariable, place.platform);
  if (chosen !== undefined && chosen !== "") return named(chosen, browserVariable, place);
  const path = await firstProgram(usualPrograms(place), place.platform);
  if (path !== undefined) return { kind: "found", path };
  return {
    kind: "none",
    problem:
      "there is no browser on this machine: neither Chrome, Chromium nor Edge is where they are usually installed" +
      `${place.platform === "linux" ? " or on the PATH" : ""}; install one of them, or put the path of one into \`${browserVariable}\` or the resource's \`executable\``,
  };
}

async function named(written: string, by: string, place: Place): Promise<FoundBrowser> {
  const isPath = written.includes("/") || (place.platform === "win32" && written.includes("\\"));
  const names = place.platform === "win32" ? [written, `${written}.exe`] : [written];
  const candidates = isPath ? [resolve(place.root, written)] : onPath(names, place);
  const path = await firstProgram(candidates, place.platform);
  if (path !== undefined) return { kind: "found", path };
  const where = isPath ? "" : " on the PATH";
  return { kind: "none", problem: `${by} is \`${written}\`, but there is no such program${where}` };
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
        ...onPath(namesOnLinux, place),
        ...inEach(foldersOnLinux, namesOnLinux, posix.join),
        ...programsOnLinux,
      ];
  }
}

function onPath(names: readonly string[], { environment, platform }: Place): string[] {
  const { delimiter, join } = platform === "win32" ? win32 : posix;
  const folders = (variable(environment, "PATH", platform) ?? "").split(delimiter);
  return inEach(
    folders.filter((folder) => folder !== ""),
    names,
    join,
  );
}

/** In order of the names, so that a better browser in a later folder comes before another one in an earlier folder. */
function inEach(
  folders: readonly string[],
  names: readonly string[],
  join: (folder: string, name: string) => string,
): string[] {
  return names.flatMap((name) => folders.map((folder) => join(folder, name)));
}

async function firstProgram(
  candidates: readonly string[],
  platform: NodeJS.Platform,
): Promise<string | undefined> {
  for (const candidate of candidates) {
    try {
      await access(candidate, platform === "win32" ? constants.F_OK : constants.X_OK);
      if ((await stat(candidate)).isFile()) return candidate;
    } catch {
      // Not this one.
    }
  }
  return undefined;
}
