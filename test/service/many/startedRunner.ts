import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./runnerProgram.ts", import.meta.url));

interface StartedRunnerOptions {
  readonly slots?: number;
  readonly isOnce?: boolean;
  /** The folder of its temporary files. */
  readonly temporary?: string;
}

/** A real runner in a process of its own, which a test may kill. */
export async function startedRunner(
  url: string,
  apiKey: string,
  { slots = 1, isOnce = false, temporary = tmpdir() }: StartedRunnerOptions = {},
) {
  const words = [program, url, apiKey, String(slots), ...(isOnce ? ["once"] : [])];
  const child = spawn(process.execPath, words, { env: { ...process.env, TMPDIR: temporary } });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, "line"), exited.then(() => undefined)]);
  if (line === undefined) throw new Error(`the runner did not start: ${errors}`);
  return {
    runnerId: String(line[0]),
    /** What it has logged. */
    get log() {
      return errors;
    },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves to its exit code, or to the signal that has ended it. */
    exited: exited.then(([code, signal]): unknown => code ?? signal),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
