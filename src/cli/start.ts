import { join } from "node:path";
import { exitCodes } from "../contract/exitCodes.ts";
import { Interrupted, Interrupts } from "./interrupts.ts";
import { failureOf, Output } from "./output.ts";
import type { Perform } from "./perform.ts";
import { plainLine } from "./plainLine.ts";
import type { StandardStreams } from "./standardStreams.ts";
import { Suspension } from "./suspension.ts";

/**
 * Does what the command line says. The exit code is set and not forced, so that whatever was printed is flushed first.
 * @param programs the folder of the built programs.
 */
export async function start(version: string, programs: string, streams: StandardStreams): Promise<void> {
  const { env } = process;
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
          const { serviceFor } = await import("../client/serviceFor.ts");
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
  const plain = plainLine(line);
  if (plain !== undefined) return perform(plain.command, plain.flags, plain.act);
  const { parseLine } = await import("./parseLine.ts");
  await parseLine(line, { version, env, perform, streams, serviceDeps });
}
