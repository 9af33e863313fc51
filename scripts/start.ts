// `npm start`: a VS Code on the sample workspace with this project's extension in it.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findDesktopCode } from "./editor/desktopCode.ts";
import { serveEditor } from "./editor/serveEditor.ts";
import { Problem } from "./problem.ts";
import { runNpmScript } from "./process/npm.ts";
import { stopSignal } from "./process/stopSignal.ts";
import { projectRoot } from "./projectRoot.ts";
import { sayToStandardError as say } from "./say.ts";

const usage = `npm start -- [--served] [--port <n>] [--data-dir <folder>] [--no-build] [<folder>]

  --served      serve VS Code to a browser, even where a desktop VS Code is installed
  --port        the port to serve it on when that is free (8137)
  --data-dir    where the served VS Code keeps its settings and secrets (.pipeline-runs-editor)
  --no-build    take the extension as it was built last
  <folder>      the folder to open (samples)`;

try {
  process.exitCode = await main();
} catch (error) {
  if (isWrongUsage(error)) console.error(`${error.message}\n\n${usage}`);
  else console.error(error instanceof Problem ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      served: { type: "boolean", default: false },
      port: { type: "string", default: "8137" },
      "data-dir": { type: "string", default: join(projectRoot, ".pipeline-runs-editor") },
      "no-build": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const preferredPort = portNumber(values.port);
  const folder = resolve(positionals[0] ?? join(projectRoot, "samples"));
  const signal = stopSignal();
  const build = async (until: AbortSignal) => {
    if (values["no-build"]) return;
    say("Building the extension…");
    await runNpmScript("build", until);
  };
  let serving = false;
  try {
    const desktop = values.served ? undefined : await usableDesktop(signal);
    if (desktop !== undefined) {
      await build(signal);
      await desktop.open(projectRoot, folder);
      console.log(`VS Code ${desktop.version} has a new window on ${folder}.\n`);
      tellWhatNext("Go to the new window.", "Close the window to stop it.");
      return 0;
    }
    const onReady = (address: string) => {
      serving = true;
      console.log(`VS Code is ready: ${address}\n`);
      tellWhatNext("Open that address in a browser.", "Ctrl-C here stops VS Code.");
    };
    await serveEditor(
      {
        build,
        folder,
        dataFolder: resolve(values["data-dir"]),
        preferredPort,
      },
      onReady,
      say,
      signal,
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return serving ? 0 : 130;
}

async function usableDesktop(signal: AbortSignal) {
  const desktop = await findDesktopCode(process.env, signal);
  if (desktop === undefined) return undefined;
  const minimum = await oldestVsCode();
  if (desktop.version.localeCompare(minimum, "en", { numeric: true }) >= 0) return desktop;
  say(
    `The VS Code ${desktop.version} on this machine is older than ${minimum}; serving a newer one instead.`,
  );
  return undefined;
}

/** What the manifest asks for in `engines.vscode`. */
async function oldestVsCode(): Promise<string> {
  const manifest = await readFile(join(projectRoot, "package.json"), "utf8");
  return /"vscode":\s*"\^?(\d+\.\d+\.\d+)"/.exec(manifest)?.[1] ?? "0.0.0";
}

function isWrongUsage(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65535) return port;
  throw new Problem(`--port is ${text}, which is no port.`, "Give a number from 0 to 65535.");
}

function tellWhatNext(where: string, howToStop: string): void {
  console.log(`1. ${where}`);
  console.log('2. Press F1, type "Run Pipeline", press Enter and choose a pipeline.');
  console.log(`3. Watch the status bar: it counts the runs used today. ${howToStop}`);
}
