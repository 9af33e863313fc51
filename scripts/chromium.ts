import { delimiter, join } from "node:path";
import { Problem } from "./problem.ts";
import { aptInstall, canInstall, isExecutable } from "./process/aptInstall.ts";
import type { Say } from "./say.ts";

const namesOnLinux = [
  "google-chrome-stable",
  "google-chrome",
  "chromium",
  "chromium-browser",
  "microsoft-edge-stable",
  "microsoft-edge",
];

const appsOnMac = [
  "Google Chrome.app/Contents/MacOS/Google Chrome",
  "Chromium.app/Contents/MacOS/Chromium",
  "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

const programsOnWindows = [
  "Google\\Chrome\\Application\\chrome.exe",
  "Chromium\\Application\\chrome.exe",
  "Microsoft\\Edge\\Application\\msedge.exe",
];

/**
 * The machine's own Chrome, Chromium or Edge. As root on a Debian-like machine without any, Chromium is installed:
 * that is a container made for builds, and nobody is there to do it.
 * @throws Problem when there is none.
 */
export async function ensureChromium(say: Say, signal: AbortSignal): Promise<string> {
  const found = await findChromium(process.env);
  if (found !== undefined) return found;
  if (await canInstall()) {
    say("Installing Chromium with apt-get, once…");
    await aptInstall(
      ["chromium"],
      "Install Chromium by hand, or put a browser's path in CHROME_PATH.",
      signal,
    );
    const installed = await findChromium(process.env);
    if (installed !== undefined) return installed;
  }
  throw new Problem(
    "No Chrome, Chromium or Edge was found on this machine.",
    "Install one, or put its path in CHROME_PATH, then do this again.",
  );
}

/**
 * `CHROME_PATH` where it is set, else the first browser found where it is usually installed.
 * @throws Problem when `CHROME_PATH` names no program.
 */
export async function findChromium(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const chosen = env["CHROME_PATH"];
  if (chosen !== undefined && chosen !== "") {
    if (await isExecutable(chosen)) return chosen;
    throw new Problem(`CHROME_PATH is ${chosen}, which is no program.`, "Correct it or unset it.");
  }
  for (const candidate of candidates(env)) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function candidates(env: NodeJS.ProcessEnv): string[] {
  switch (process.platform) {
    case "darwin":
      return inEach(["/Applications", join(env["HOME"] ?? "/", "Applications")], appsOnMac);
    case "win32":
      return inEach([env["ProgramFiles"], env["ProgramFiles(x86)"], env["LOCALAPPDATA"]], programsOnWindows);
    default:
      return inEach((env["PATH"] ?? "").split(delimiter), namesOnLinux);
  }
}

/** In order of the names, so that a better browser in a later folder comes before another one in an earlier folder. */
function inEach(folders: readonly (string | undefined)[], names: readonly string[]): string[] {
  return names.flatMap((name) =>
    folders.flatMap((folder) => (folder === undefined || folder === "" ? [] : [join(folder, name)])),
  );
}
