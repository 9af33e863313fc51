import type { ChildProcess, spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../clock.ts";

export interface ToolCommand {
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly spawn: typeof spawn;
  readonly clock: Clock;
}

export interface ToolEnd {
  /** The exit code, or the signal that ended the tool. */
  readonly end: number | string;
  readonly output: string;
  /** The last part of what it wrote to standard error. */
  readonly complaints: string;
}

const graceMilliseconds = 5000;
const largestOutput = 1024 * 1024;

/**
 * Runs a tool to its end, without a shell and with nothing on its standard input. An abort interrupts it as Ctrl-C
 * would; a tool that is still there five seconds later is killed.
 *
 * @throws PipelineError `invalid-request` when it can't be run; the signal's reason once an aborted tool is gone.
 */
export async function runTool(command: ToolCommand, signal: AbortSignal): Promise<ToolEnd> {
  signal.throwIfAborted();
  const child = command.spawn(command.path, [...command.args], {
    cwd: command.cwd,
    env: command.env,
    windowsHide: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gone = new AbortController();
  const interrupt = (): void => {
    child.kill("SIGINT");
    command.clock.sleep(graceMilliseconds, gone.signal).then(
      () => child.kill("SIGKILL"),
      () => undefined,
    );
  };
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const ended = await endOf(child, command.path, signal);
    signal.throwIfAborted();
    return ended;
  } finally {
    gone.abort();
    signal.removeEventListener("abort", interrupt);
  }
}

function endOf(child: ChildProcess, path: string, signal: AbortSignal): Promise<ToolEnd> {
  return new Promise((resolve, reject) => {
    let output = "";
    let complaints = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(0, largestOutput);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaints = (complaints + text).slice(-largestOutput);
    });
    child.once("error", (cause) => {
      reject(
        new PipelineError("invalid-request", `The tool ${path} can't be run.`, {
          cause,
          next: "Correct the setting pipelineRuns.cliPath.",
        }),
      );
    });
    child.once("exit", () => {
      // What an aborted tool has started may keep its pipes open.
      if (!signal.aborted) return;
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    child.once("close", (code, killedBy) => {
      resolve({ end: code ?? killedBy ?? "unknown", output, complaints });
    });
  });
}
