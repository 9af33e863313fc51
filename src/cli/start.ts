import { existsSync } from "node:fs";
import { join } from "node:path";
import { CommanderError } from "commander";
import { serviceFor } from "../client/logins/logins.ts";
import { errorTypes, exitCodes, PipelineError } from "../contract/errors.ts";
import { hideOwnMemory } from "../machine/ownProcess.ts";
import type { Environment } from "../project/environment.ts";
import type { Perform } from "./commands/command.ts";
import { tabWord } from "./commands/more.ts";
import { Output, reportFault } from "./output/output.ts";
import { createProgram } from "./program.ts";
import { heedInterrupts } from "./terminal/interrupts.ts";
import type { Stream } from "./terminal/terminal.ts";

/** The process of the tool, in which a command line runs. */
export interface ToolHost {
  readonly version: string;
  /** The folder of the built programs. */
  readonly programs: string;
  readonly env: Environment;
  /** The working folder; undefined if it no longer exists or can't be named. */
  readonly folder: string | undefined;
  readonly out: Stream;
  readonly err: Stream;
  /** Aborted once the reader of standard output is gone. */
  readonly unread: AbortSignal;
  /** Returns the exit code for a command that ended with this code. */
  readonly exitCode: (code: number) => number;
}

/** Runs the process's command line. Sets the exit code without forcing an exit, so that all output is flushed. */
export async function start(version: string, programs: string): Promise<void> {
  hideOwnMemory();
  // Removed for child processes: a browser that the tool opens may be Electron too.
  delete process.env["ELECTRON_RUN_AS_NODE"];
  // Sets up the streams before anything is written.
  const host = { version, programs, env: process.env, folder: workingFolder(), ...standardStreams() };
  const code = await runLine(process.argv.slice(2), host);
  if (code !== undefined) process.exitCode = code;
}

function workingFolder(): string | undefined {
  try {
    const folder = process.cwd();
    // Node.js puts U+FFFD in place of bytes that aren't UTF-8, and then can't find the folder by that name.
    return folder.includes("\ufffd") && !existsSync(folder) ? undefined : folder;
  } catch {
    return undefined;
  }
}

/**
 * Runs a command, shows help, or completes a word.
 * @param line the arguments, without the program.
 * @returns the exit code; undefined leaves it unchanged.
 */
export async function runLine(line: readonly string[], host: ToolHost): Promise<number | undefined> {
  const { version, programs, env, folder, out, err, unread } = host;
  const serviceDeps = { execPath: process.execPath, servicePath: join(programs, "service.js") };
  let exitCode: number | undefined;

  const perform: Perform = async (command, flags, act) => {
    const output = new Output({ out, err, env, flags });
    const release = () => output.release();
    using interrupts = heedInterrupts(output.err.isLive ? release : undefined);
    // Also releases the terminal on an immediate exit.
    process.once("exit", release);
    try {
      if (folder === undefined) {
        throw new PipelineError(
          "not-found",
          "The working folder was removed, can't be read, or has a name that isn't UTF-8.",
          {
            next: "Go to another one.",
          },
        );
      }
      const code = await act({
        output,
        env,
        folder,
        interrupted: interrupts.signal,
        leaving: interrupts.leaving,
        unread,
        programs,
        connect: async (signal = interrupts.signal, start = "needed") => {
          const deps = {
            ...serviceDeps,
            start,
            onRetry: (fault: Error, pause: number) =>
              output.passing(`${fault.message} Trying again in ${Math.round(pause / 1000)} s.`),
          };
          return serviceFor(env, deps, signal);
        },
      });
      exitCode = host.exitCode(code);
    } catch (error) {
      exitCode = reportFault(output, command, error, interrupts.signal);
    } finally {
      release();
      process.off("exit", release);
    }
  };

  const program = createProgram({ version, perform, line, out, err });
  if (line[0] === tabWord) {
    if (folder === undefined) return undefined;
    const { answerTab } = await import("./completion/answerTab.ts");
    const { runningService } = await import("../client/logins/logins.ts");
    await answerTab(program, line.slice(1), {
      env,
      folder,
      out,
      service: (signal) => runningService(env, serviceDeps, signal),
    });
    return undefined;
  }
  try {
    // Explicit: Electron runs the tool in the editor's terminals, and commander would guess other arguments.
    await program.parseAsync(line, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has already printed why: help, the version, or wrong usage.
    const isWrongUsage = error.exitCode !== 0;
    if (isWrongUsage && line.includes("--json")) {
      // So far the message is only on standard error.
      const message = error.message.replace(/^error: /, "");
      const output = new Output({ out, err, env, flags: { json: true, quiet: false, color: false } });
      const command = program.below(line.filter((word) => !word.startsWith("-")));
      output.failure(command.words(), { type: "usage", message, next: "" });
    }
    return isWrongUsage ? exitCodes.wrongUsage : host.exitCode(exitCodes.done);
  }
  return exitCode;
}

/** The process's standard output and error, with their errors handled until it ends. */
function standardStreams(): Pick<ToolHost, "out" | "err" | "unread" | "exitCode"> {
  const { stdout: out, stderr: err } = process;
  const unread = new AbortController();
  let isBroken = false;
  // Becomes `internal` if the result couldn't be written, so that the caller notices.
  const exitCode = (code: number): number => (isBroken ? errorTypes.internal.exitCode : code);
  // Warns once but doesn't exit: a started run is still followed to its end.
  out.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // A reader that stops early (`| head`) isn't an error, nor is a closed terminal.
    if (code === "EPIPE" || code === "EOF" || (code === "EIO" && out.isTTY)) {
      unread.abort();
      return;
    }
    if (!isBroken) err.write(`pipeline: the output can't be written: ${message}\n`);
    isBroken = true;
    process.exitCode = exitCode(0);
  });
  // Ignored: a lost message must not end the command that follows a run.
  err.on("error", () => {});
  return { out, err, unread: unread.signal, exitCode };
}
