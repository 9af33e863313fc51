import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Says what it is started with. */
export const programPath = fileURLToPath(new URL("./program.ts", import.meta.url));

/** A service or a runner in a process of its own, which a test may kill. */
export async function startedProgram(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [programPath, ...words], {
    env: { ...process.env, ...env },
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const exited = once(child, "exit").then(([code, signal]): unknown => code ?? signal);
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, "line"), exited.then(() => undefined)]);
  if (line === undefined) throw new Error(`it did not start: ${log}`);
  return {
    firstLine: String(line[0]),
    pid: child.pid,
    /** What it has logged. */
    get log() {
      return log;
    },
    get isRunning() {
      return child.exitCode === null && child.signalCode === null;
    },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves to its exit code, or to the signal that has ended it. */
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

interface StartedRunnerOptions {
  readonly slots?: number;
  readonly isOnce?: boolean;
  /** The folder of its temporary files. */
  readonly temporary?: string;
}

/** A real runner in a process of its own; its first line is its id. */
export function startedRunner(
  url: string,
  apiKey: string,
  { slots = 1, isOnce = false, temporary = tmpdir() }: StartedRunnerOptions = {},
) {
  const words = ["runner", url, apiKey, String(slots), ...(isOnce ? ["once"] : [])];
  return startedProgram(words, { TMPDIR: temporary });
}
