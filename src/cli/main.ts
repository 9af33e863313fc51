#!/usr/bin/env node
import { join } from "node:path";
import { serviceFor } from "../client/serviceFor.ts";
import { exitCodes } from "./exitCodes.ts";
import { Interrupted, Interrupts } from "./interrupts.ts";
import { failureOf, Output } from "./output.ts";
import { createProgram, isParserExit } from "./program.ts";

declare const PIPELINE_RUNS_VERSION: string;

const programs = import.meta.dirname;

// A reader that has seen enough (`| head`) is no error, and must not end a run that is being followed.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.stderr.write(`pipeline: the output can't be written: ${error.message}\n`, () => process.exit(4));
  });
}

/** The exit code is set and not forced, so that whatever was printed is flushed first. */
const program = createProgram({
  version: PIPELINE_RUNS_VERSION,
  env: process.env,
  async perform(command, { json }, act) {
    const output = new Output({ out: process.stdout, err: process.stderr, json });
    using interrupts = new Interrupts();
    try {
      process.exitCode = await act({
        output,
        env: process.env,
        folder: process.cwd(),
        interrupted: interrupts.signal,
        runnerPath: join(programs, "runner.js"),
        pageFolder: join(programs, "page"),
        connect: async () => {
          const deps = {
            execPath: process.execPath,
            servicePath: join(programs, "service.js"),
            onRetry: (fault: Error, pause: number) =>
              output.passing(`${fault.message} Trying again in ${Math.round(pause / 1000)} s.`),
          };
          return (await serviceFor(process.env, deps, interrupts.signal)).client;
        },
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
  },
});

try {
  await program.parseAsync();
} catch (error) {
  if (!isParserExit(error)) throw error;
  const isWrongUsage = error.exitCode !== 0;
  if (isWrongUsage && process.argv.includes("--json")) {
    // What the parser has said went to standard error; who reads JSON is told there too.
    const command = process.argv.slice(2).find((word) => !word.startsWith("-")) ?? "";
    const message = error.message.replace(/^error: /, "");
    const output = new Output({ out: process.stdout, err: process.stderr, json: true });
    output.failure(command, { type: "usage", message, next: "" });
  }
  process.exitCode = isWrongUsage ? exitCodes.wrongUsage : exitCodes.done;
}
