import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { runMarker } from "../processes/processTable.ts";
import { makeScratch, scratchFolder } from "../processes/scratchFolder.ts";
import type { StepContext } from "../step/stepContext.ts";

export interface Outputs {
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** The outputs of a program that is to be started. What isn't of use by then is closed when it is disposed. */
interface NewOutputs extends Disposable {
  /** The program's ends, for `spawn`. */
  readonly stdio: ["pipe" | number, "pipe" | number];
  /** @param child one that has started. */
  readonly of: (child: ChildProcess) => Outputs;
}

/**
 * Makes the outputs of a program. Node's own are sockets, which Linux opens for no program by a name, as `tee /dev/stderr` does;
 * so there they are pipes, which only `mkfifo` makes for us. Where it can't, they are Node's.
 */
export async function openOutputs({
  environment,
  platform,
}: Pick<StepContext, "environment" | "platform">): Promise<NewOutputs> {
  const scratch = scratchFolder(environment[runMarker] ?? "");
  const pipes = platform === "linux" ? await openPipes(scratch).catch(() => undefined) : undefined;
  if (pipes === undefined) {
    return {
      stdio: ["pipe", "pipe"],
      of: ({ stdout, stderr }) => {
        if (stdout === null || stderr === null) throw new TypeError("a program has no output");
        return { stdout, stderr };
      },
      [Symbol.dispose]: () => {},
    };
  }
  const { stdout, stderr } = pipes;
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
const unused: Pipe[] = [];

async function openPipes(scratch: string): Promise<Readonly<Record<keyof Outputs, Pipe>> | undefined> {
  if (unused.length === 0) unused.push(...(await makePipes(scratch)));
  const [stdout, stderr] = unused.splice(0, 2);
  return stdout && stderr && { stdout, stderr };
}

async function makePipes(scratch: string): Promise<readonly Pipe[]> {
  await makeScratch(scratch);
  const paths = Array.from({ length: pipesAtOnce }, (_, index) => join(scratch, `pipe-${index}`));
  try {
    const [code] = await once(spawn("mkfifo", ["-m", "600", ...paths], { stdio: "ignore" }), "exit");
    return code === 0 ? openPaths(paths) : [];
  } finally {
    // A run's first line waits for this: by a thread, each would take ten times as long.
    for (const path of paths) rmSync(path, { force: true });
  }
}

/** @throws Error where no more files can be opened; none of them stays open then. */
function openPaths(paths: readonly string[]): readonly Pipe[] {
  using opened = new DisposableStack();
  const open = (path: string, flags: number) => opened.adopt(openSync(path, flags), closeSync);
  const pipes = paths.map((path) => {
    // The end that writes can be opened once there is one that reads.
    const ours = open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { ours, theirs: open(path, constants.O_WRONLY) };
  });
  opened.move();
  return pipes;
}
