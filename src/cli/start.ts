import { join } from "node:path";
import { serviceFor } from "../client/logins/serviceFor.ts";
import { exitCodes } from "../contract/errors.ts";
import type { Perform } from "./commands/command.ts";
import { tabWord } from "./commands/completion.ts";
import { failureOf, Output } from "./output/output.ts";
import { createProgram, isParserExit } from "./program.ts";
import { Interrupted, Interrupts, Suspension } from "./terminal/interrupts.ts";
import { StandardStreams } from "./terminal/standardStreams.ts";

/**
 * Does what the command line says: a command, a help, the completion of a word, or to tell what is wrong with it. The exit code
 * is set and not forced, so that whatever was printed is flushed first.
 * @param programs the folder of the built programs.
 */
export async function start(version: string, programs: string): Promise<void> {
  // A report that Node.js writes of a crash would hold the environment, and with it an API key.
  if (process.report) process.report.excludeEnv = true;
  // It was for this process; a browser that the tool opens may be made of the same parts as the editor.
  delete process.env["ELECTRON_RUN_AS_NODE"];
  const { env } = process;
  // Before anything is written.
  const streams = new StandardStreams();
  const { out, err, unread } = streams;
  const serviceDeps = { execPath: process.execPath, servicePath: join(programs, "service.js") };

  const perform: Perform = async (command, flags, act) => {
    const output = new Output({ out, err, env, flags });
    using interrupts = new Interrupts();
    using _suspension = output.err.isLive ? new Suspension(() => output.release()) : undefined;
    // Also when the tool leaves at once, or fails in a way that nobody thought of.
    process.once("exit", () => output.release());
    try {
      const code = await act({
        output,
        env,
        folder: process.cwd(),
        interrupted: interrupts.signal,
        leaving: interrupts.leaving,
        unread,
        runnerPath: join(programs, "runner.js"),
        pageFolder: join(programs, "page"),
        connect: async (signal = interrupts.signal) => {
          const deps = {
            ...serviceDeps,
            onRetry: (fault: Error, pause: number) =>
              output.passing(`${fault.message} Trying again in ${Math.round(pause / 1000)} s.`),
          };
          return (await serviceFor(env, deps, signal)).client;
        },
      });
      process.exitCode = streams.exitCode(code);
    } catch (error) {
      if (error instanceof Interrupted || interrupts.signal.aborted) {
        output.failure(command, { type: "interrupted", message: "interrupted", next: "" });
        process.exitCode = exitCodes.interrupted;
        return;
      }
      const { failure, exitCode } = failureOf(error);
      output.failure(command, failure);
      process.exitCode = exitCode;
    }
  };

  const line = process.argv.slice(2);
  const program = createProgram({ version, env, perform, line });
  if (line[0] === tabWord) {
    const { answerTab } = await import("./completion/answerTab.ts");
    const { runningService } = await import("../client/logins/serviceFor.ts");
    return answerTab(program, line.slice(1), {
      env,
      folder: process.cwd(),
      out,
      service: (signal) => runningService(env, serviceDeps, signal),
    });
  }
  try {
    // The editor, whose runtime runs the tool in its terminals, would else be taken for a program without a script.
    await program.parseAsync(process.argv, { from: "node" });
  } catch (error) {
    if (!isParserExit(error)) throw error;
    const isWrongUsage = error.exitCode !== 0;
    if (isWrongUsage && line.includes("--json")) {
      // What the parser has said went to standard error; who reads JSON is told there too.
      const message = error.message.replace(/^error: /, "");
      const output = new Output({ out, err, env, flags: { json: true, quiet: false, color: false } });
      output.failure(program.commandIn(line), { type: "usage", message, next: "" });
    }
    process.exitCode = isWrongUsage ? exitCodes.wrongUsage : streams.exitCode(exitCodes.done);
  }
}
