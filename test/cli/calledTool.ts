import { join } from "node:path";
import { runLine } from "../../src/cli/start.ts";

const never = new AbortController().signal;

/** The tool's command line, in the process of the tests: for what a process of its own adds nothing to. */
export async function calledTool(
  line: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
) {
  const printed = { stdout: "", stderr: "" };
  const to = (name: keyof typeof printed) => ({
    write: (text: string) => {
      printed[name] += text;
      return true;
    },
  });
  const exitCode = await runLine(line, {
    version: "0.0.0",
    programs: join(import.meta.dirname, "../../dist"),
    env,
    folder,
    out: to("stdout"),
    err: to("stderr"),
    unread: never,
    exitCode: (code) => code,
  });
  return {
    exitCode,
    stdout: printed.stdout.replace(/\n$/, ""),
    stderr: printed.stderr.replace(/\n$/, ""),
  };
}
