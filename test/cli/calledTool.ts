import { join } from "node:path";
import type { Perform } from "../../src/cli/commands/command.ts";
import { tabWord } from "../../src/cli/commands/completion.ts";
import { answerTab } from "../../src/cli/completion/answerTab.ts";
import { failureOf, Output } from "../../src/cli/output/output.ts";
import { createProgram, isParserExit } from "../../src/cli/program.ts";
import { runningService, serviceFor } from "../../src/client/logins/serviceFor.ts";
import { exitCodes } from "../../src/contract/errors.ts";
import { allCommands } from "./words.ts";

const programs = join(import.meta.dirname, "../../dist");
const never = new AbortController().signal;

/** The tool's commands as they are called by its process, but in this one: for what a process of its own adds nothing to. */
export async function calledTool(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
) {
  let exitCode: number = exitCodes.done;
  const printed = { stdout: "", stderr: "" };
  const to = (name: keyof typeof printed) => ({
    write: (text: string) => {
      printed[name] += text;
      return true;
    },
  });
  const [out, err] = [to("stdout"), to("stderr")];
  const deps = { execPath: process.execPath, servicePath: join(programs, "service.js") };
  const perform: Perform = async (command, flags, act) => {
    const output = new Output({ out, err, env, flags });
    try {
      exitCode = await act({
        output,
        env,
        folder,
        interrupted: never,
        leaving: never,
        unread: never,
        runnerPath: join(programs, "runner.js"),
        pageFolder: join(programs, "page"),
        connect: async (signal = never) => (await serviceFor(env, deps, signal)).client,
      });
    } catch (error) {
      const { failure, exitCode: code } = failureOf(error);
      output.failure(command, failure);
      exitCode = code;
    }
  };
  const program = createProgram({ version: "0.0.0", env, perform, line: args });
  for (const command of allCommands(program)) {
    command.configureOutput({ writeOut: out.write, writeErr: err.write });
  }
  try {
    if (args[0] === tabWord) {
      const service = (signal: AbortSignal) => runningService(env, deps, signal);
      await answerTab(program, args.slice(1), { env, folder, out, service });
    } else {
      await program.parseAsync(args, { from: "user" });
    }
  } catch (error) {
    if (!isParserExit(error)) throw error;
    if (error.exitCode !== 0) exitCode = exitCodes.wrongUsage;
    if (error.exitCode !== 0 && args.includes("--json")) {
      const output = new Output({ out, err, env, flags: { json: true, quiet: false, color: false } });
      const message = error.message.replace(/^error: /, "");
      output.failure(program.commandIn(args), { type: "usage", message, next: "" });
    }
  }
  return {
    exitCode,
    stdout: printed.stdout.replace(/\n$/, ""),
    stderr: printed.stderr.replace(/\n$/, ""),
  };
}
