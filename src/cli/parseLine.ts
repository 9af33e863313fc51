import { exitCodes } from "../contract/exitCodes.ts";
import { tabWord } from "./completion/shells.ts";
import type { Environment } from "./environment.ts";
import { Output } from "./output.ts";
import type { Perform } from "./perform.ts";
import { createProgram, isParserExit } from "./program.ts";
import type { StandardStreams } from "./standardStreams.ts";

interface ParseDeps {
  readonly version: string;
  readonly env: Environment;
  readonly perform: Perform;
  readonly streams: StandardStreams;
  readonly serviceDeps: { readonly execPath: string; readonly servicePath: string };
}

/** Does what a command line of any kind says: a command, a help, the completion of a word, or what is wrong with it. */
export async function parseLine(line: readonly string[], deps: ParseDeps): Promise<void> {
  const { version, env, perform, streams, serviceDeps } = deps;
  const { out, err } = streams;
  if (line[0] === tabWord) {
    const program = createProgram({ version, env, perform });
    const { answerTab } = await import("./completion/answerTab.ts");
    const { runningService } = await import("../client/runningService.ts");
    return answerTab(program, line.slice(1), {
      env,
      folder: process.cwd(),
      out,
      service: (signal) => runningService(env, serviceDeps, signal),
    });
  }
  const program = createProgram({ version, env, perform, line });
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
