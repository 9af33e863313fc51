import { join } from "node:path";
import { serviceFor } from "../client/serviceFor.ts";
import { tabWord } from "./completion/shells.ts";
import { exitCodes } from "./exitCodes.ts";
import { Interrupted, Interrupts } from "./interrupts.ts";
import { failureOf, Output } from "./output.ts";
import { createProgram, isParserExit } from "./program.ts";
import type { Perform } from "./words/toolCommand.ts";

/**
 * Does what the command line says. The exit code is set and not forced, so that whatever was printed is flushed first.
 * @param programs the folder of the built programs.
 */
export async function start(version: string, programs: string): Promise<void> {
  const { env, stdout: out, stderr: err } = process;
  const unread = new AbortController();
  for (const stream of [out, err]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") {
        err.write(`pipeline: the output can't be written: ${error.message}\n`, () => process.exit(4));
      } else if (stream === out) {
        // A reader that has seen enough is no error, and must not end a run that is being followed.
        unread.abort();
      }
    });
  }

  const serviceDeps = { execPath: process.execPath, servicePath: join(programs, "service.js") };
  const perform: Perform = async (command, flags, act) => {
    const output = new Output({ out, err, env, flags });
    using interrupts = new Interrupts();
    try {
      process.exitCode = await act({
        output,
        env,
        folder: process.cwd(),
        interrupted: interrupts.signal,
        unread: unread.signal,
        runnerPath: join(programs, "runner.js"),
        pageFolder: join(programs, "page"),
        connect: async () => (await serviceFor(env, serviceDeps, interrupts.signal)).client,
      });
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

  const program = createProgram({ version, env, perform });
  if (process.argv[2] === tabWord) {
    const { answerTab } = await import("./completion/answerTab.ts");
    const { runningService } = await import("../client/runningService.ts");
    return answerTab(program, process.argv.slice(3), {
      env,
      folder: process.cwd(),
      out,
      service: (signal) => runningService(env, serviceDeps, signal),
    });
  }
  try {
    await program.parseAsync();
  } catch (error) {
    if (!isParserExit(error)) throw error;
    const isWrongUsage = error.exitCode !== 0;
    if (isWrongUsage && process.argv.includes("--json")) {
      // What the parser has said went to standard error; who reads JSON is told there too.
      const message = error.message.replace(/^error: /, "");
      const output = new Output({ out, err, env, flags: { json: true, quiet: false, color: false } });
      output.failure(program.commandIn(process.argv.slice(2)), { type: "usage", message, next: "" });
    }
    process.exitCode = isWrongUsage ? exitCodes.wrongUsage : exitCodes.done;
  }
}
