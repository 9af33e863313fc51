import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { StepContext } from "../step/stepContext.ts";

export interface Outputs {
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** The outputs of a program that is about to start. Disposing closes what this process doesn't need of them. */
interface NewOutputs extends Disposable {
  /** The program's ends, for `spawn`. */
  readonly stdio: ["pipe" | number, "pipe" | number];
  /** @param child one that has started. */
  readonly of: (child: ChildProcess) => Outputs;
}

/**
 * Makes the outputs of a program. On Linux they are pipes, since a program can't open Node's own, which are sockets, by name, as
 * `tee /dev/stderr` does; only `mkfifo` makes pipes for us. Where it can't, they are Node's.
 */
export async function openOutputs({ platform }: Pick<StepContext, "platform">): Promise<NewOutputs> {
  const unused = await preparePipes(platform);
  const [stdout, stderr] = unused.splice(0, 2);
  // The next program's call makes new ones.
  if (unused.length === 0) pipes = undefined;
  if (stdout === undefined || stderr === undefined) {
    return {
      stdio: ["pipe", "pipe"],
      of: ({ stdout, stderr }) => {
        if (stdout === null || stderr === null) throw new TypeError("a program has no output");
        return { stdout, stderr };
      },
      [Symbol.dispose]: () => {},
    };
  }
  let isUsed = false;
  return {
    stdio: [stdout.theirs, stderr.theirs],
    of: () => {
      isUsed = true;
      const reader = ({ ours }: Pipe) => new Socket({ fd: ours, readable: true, writable: false });
      return { stdout: reader(stdout), stderr: reader(stderr) };
    },
    [Symbol.dispose]: () => {
      for (const { ours, theirs } of [stdout, stderr]) {
        closeSync(theirs);
        if (!isUsed) closeSync(ours);
      }
    },
  };
}

/** The two ends of a pipe, as descriptors: ours, which doesn't block, and the program's. */
interface Pipe {
  readonly ours: number;
  readonly theirs: number;
}

/** `mkfifo` is a process, so it makes the pipes of some programs at once. */
const pipesAtOnce = 16;
/** How long `mkfifo` may take, in milliseconds: a temporary folder that hangs must not hold a run. */
const patienceMilliseconds = 2000;
/** The pipes that no program has yet. */
let pipes: Promise<Pipe[]> | undefined;

/** Makes pipes before a program needs them: a runner that waits for its job has the time. Never rejects. */
export function preparePipes(platform: NodeJS.Platform): Promise<Pipe[]> {
  pipes ??= platform === "linux" ? makePipes().catch(() => []) : Promise.resolve([]);
  return pipes;
}

async function makePipes(): Promise<Pipe[]> {
  const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-"));
  try {
    const paths = Array.from({ length: pipesAtOnce }, (_, index) => join(folder, `pipe-${index}`));
    const mkfifo = spawn("mkfifo", ["-m", "600", ...paths], { stdio: "ignore" });
    const [code] = await once(mkfifo, "exit", { signal: AbortSignal.timeout(patienceMilliseconds) });
    return code === 0 ? openPaths(paths) : [];
  } finally {
    // Synchronous, since a run's first line may wait for this: in a thread, each file would take ten times as long.
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error where no more files can be opened; none of them stays open then. */
function openPaths(paths: readonly string[]): Pipe[] {
  const opened: number[] = [];
  const open = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    return paths.map((path) => {
      // The writing end can be opened only once there is a reading end.
      const ours = open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      return { ours, theirs: open(path, constants.O_WRONLY) };
    });
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  }
}
