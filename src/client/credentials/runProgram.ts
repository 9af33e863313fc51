import type { spawn } from "node:child_process";
import type { Clock } from "../clock.ts";
import { Deadline, DeadlinePassed } from "../deadline.ts";
import type { Environment } from "../starterEnvironment.ts";

interface ProgramCall {
  readonly path: string;
  readonly args: readonly string[];
  /** What it reads on standard input: the one way on which a secret may go to it. */
  readonly input: string;
  readonly env: Environment;
  readonly spawn: typeof spawn;
  readonly clock: Clock;
  /** How long it may take, in seconds; then it is killed. */
  readonly seconds: number;
}

type ProgramEnd =
  | { readonly kind: "ended"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  /** It could not be run, did not end in time, or was killed. */
  | { readonly kind: "failed"; readonly why: string };

const largestOutput = 64 * 1024;

/** Runs a small program to its end, without a shell. @throws the signal's reason, once the program was killed for it. */
export async function runProgram(call: ProgramCall, signal: AbortSignal): Promise<ProgramEnd> {
  signal.throwIfAborted();
  using deadline = new Deadline(call.clock, signal);
  deadline.arm(call.seconds);
  const child = call.spawn(call.path, [...call.args], {
    env: call.env,
    windowsHide: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = await new Promise<ProgramEnd>((resolve) => {
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(0, largestOutput);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(0, largestOutput);
    });
    // A program that ends without having read its input closes the pipe under it; its exit code says more.
    child.stdin.on("error", () => undefined);
    child.stdin.end(call.input);
    child.once("error", (error) => resolve({ kind: "failed", why: `it can't be run (${error.message})` }));
    child.once("close", (exitCode, killedBy) =>
      resolve(
        exitCode === null
          ? { kind: "failed", why: `it was ended by ${killedBy ?? "the system"}` }
          : { kind: "ended", exitCode, stdout, stderr },
      ),
    );
    deadline.signal.addEventListener("abort", () => {
      child.kill("SIGKILL");
      // What it has started may keep its pipes open.
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
      const { reason } = deadline.signal;
      const seconds = reason instanceof DeadlinePassed ? reason.seconds : 0;
      resolve({ kind: "failed", why: `it did not answer within ${seconds} s` });
    });
  });
  signal.throwIfAborted();
  return ended;
}
