import { type ChildProcess, spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { type Clock, systemClock } from "../../machine/clock.ts";
import { type Environment, windowsProgram, withoutStarter } from "../../project/environment.ts";
import { isSignalled } from "../../runner/processes/processTable.ts";
import { foreignText } from "../service/foreignText.ts";

/** A service's own command-line tool, for services without an endpoint for starts (setting `pipelineRuns.cliPath`). */
export interface ForeignTool {
  readonly cliPath: string;
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly cwd: string;
  /** Its environment, from which the editor's own variables are removed. */
  readonly env: Environment;
  readonly spawn?: typeof spawn;
  readonly clock?: Clock;
  readonly platform?: NodeJS.Platform;
  /** Called with each new last line of standard error, safe to show. */
  readonly onProgress?: (line: string) => void;
}

export interface ToolEnd {
  /** The exit code, or the signal that ended the tool. */
  readonly end: number | string;
  /** The first part of what it wrote to standard output. */
  readonly output: string;
  /** The last part of what it wrote to standard error. */
  readonly complaints: string;
}

const graceMilliseconds = 5000;
const largestOutput = 1024 * 1024;

/**
 * Runs a tool to its end, without a shell or standard input. An abort interrupts its process group as Ctrl-C would; what is left
 * after five seconds, or once the tool has exited, is killed.
 *
 * @throws PipelineError `invalid-request` if it can't be run; the signal's reason once an aborted tool is gone.
 */
export async function runTool(
  tool: ForeignTool,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ToolEnd> {
  signal.throwIfAborted();
  const { cwd, apiKey, clock = systemClock } = tool;
  const deps = { spawn: tool.spawn ?? spawn, platform: tool.platform ?? process.platform };
  const baseUrl = tool.baseUrl.href.replace(/\/$/, "");
  const env = { ...withoutStarter(tool.env), PIPELINE_BASE_URL: baseUrl, PIPELINE_API_KEY: apiKey };
  const line = commandLine(tool.cliPath, args, deps.platform, env);
  const child = deps.spawn(line.path, [...line.args], {
    cwd,
    env,
    windowsHide: true,
    windowsVerbatimArguments: line.verbatim,
    // A process group of its own, which an abort reaches as a whole.
    detached: deps.platform !== "win32",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gone = new AbortController();
  const interrupt = (): void => {
    interruptTree(child, deps);
    clock.sleep(graceMilliseconds, gone.signal).then(
      () => endTree(child, deps),
      () => undefined,
    );
  };
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const ended = await endOf(child, tool, deps, signal);
    signal.throwIfAborted();
    return ended;
  } finally {
    gone.abort();
    signal.removeEventListener("abort", interrupt);
  }
}

function endOf(
  child: ChildProcess,
  { cliPath, apiKey, onProgress }: ForeignTool,
  deps: TreeDeps,
  signal: AbortSignal,
): Promise<ToolEnd> {
  const tell = onProgress && lastLines(onProgress, apiKey);
  return new Promise((resolve, reject) => {
    let output = "";
    let complaints = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (output.length < largestOutput) output = (output + text).slice(0, largestOutput);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaints = (complaints + text).slice(-largestOutput);
      tell?.(text);
    });
    child.once("error", (cause) => {
      reject(
        new PipelineError("invalid-request", `The tool ${cliPath} can't be run.`, {
          cause,
          next: "Correct the setting pipelineRuns.cliPath.",
        }),
      );
    });
    child.once("exit", () => {
      if (!signal.aborted) return;
      // Its children may keep the pipes open.
      endTree(child, deps);
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    child.once("close", (code, killedBy) => {
      resolve({ end: code ?? killedBy ?? "unknown", output, complaints });
    });
  });
}

/** Passes on only complete lines, since half of one may hold half of the key. */
function lastLines(tell: (line: string) => void, apiKey: string): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split(/[\r\n]+/);
    rest = (lines.pop() ?? "").slice(-longestLine);
    const last = foreignText(lines.findLast((line) => line.trim() !== "") ?? "", apiKey);
    if (last !== "") tell(last);
  };
}

const longestLine = 64 * 1024;

/**
 * The command line that starts a program without a shell. On Windows a `.cmd` or `.bat` file needs the command interpreter, which
 * interprets many characters even within quotes, so words with any of those are refused.
 *
 * @returns the program to start, and whether its arguments are passed verbatim.
 * @throws PipelineError `invalid-request` for a word that can't be passed.
 */
export function commandLine(
  path: string,
  args: readonly string[],
  platform: NodeJS.Platform,
  env: Environment,
) {
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

interface TreeDeps {
  readonly spawn: typeof spawn;
  readonly platform: NodeJS.Platform;
}

/** Interrupts a program that leads a process group, and all of that group, as Ctrl-C in a terminal would. */
function interruptTree(child: ChildProcess, deps: TreeDeps): void {
  // Windows can't interrupt a program without a console, so it is ended at once.
  if (deps.platform === "win32") endTree(child, deps);
  else signalGroup(child, "SIGINT");
}

/** Kills the program, if it is still there, and what is left of its process group. */
export function endTree(child: ChildProcess, { spawn: start, platform }: TreeDeps): void {
  if (platform !== "win32") {
    signalGroup(child, "SIGKILL");
    return;
  }
  if (child.pid === undefined || child.exitCode !== null) return;
  const taskkill = windowsProgram("taskkill.exe", process.env);
  const words = ["/pid", String(child.pid), "/t", "/f"];
  start(taskkill, words, { windowsHide: true, stdio: "ignore" }).once("error", () => child.kill());
}

function signalGroup({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
  // Without an id nothing was started, and `-0` would be this process's own group.
  if (pid > 1) isSignalled(-pid, signal);
}
