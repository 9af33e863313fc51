import { execFileSync } from "node:child_process";
import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * A named pipe by which a test knows, without a clock, that processes began and that they are gone. A process that
 * runs `holdBeacon` says its id and holds the pipe open; the pipe ends when the last of them has ended.
 */
export interface Beacon {
  readonly path: string;
  /** The ids that were said so far, once there are `count` of them. */
  pids(count: number): Promise<readonly number[]>;
  /** Resolves when no process holds the pipe any more. */
  readonly dark: Promise<void>;
}

/** A line for `sh`. Run it at the start of a script: everything that the script starts holds the pipe as well. */
export function holdBeacon(beacon: Beacon): string {
  return `exec 9>'${beacon.path}'; echo $$ >&9`;
}

export function makeBeacon(folder: string, name = "beacon"): Beacon {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  // Not by a stream of files: its thread would wait for a writer, and where none comes this process could not even end.
  const stream = new Socket({
    fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false,
  });
  stream.unref();
  const said: number[] = [];
  const waiting: (() => void)[] = [];
  createInterface({ input: stream }).on("line", (line) => {
    said.push(Number(line));
    for (const wake of waiting.splice(0)) wake();
  });
  return {
    path,
    dark: new Promise((done) => stream.once("close", () => done())),
    async pids(count) {
      while (said.length < count) await new Promise<void>((wake) => waiting.push(wake));
      return [...said];
    },
  };
}

/** A script as one word of another. */
export function quoted(script: string): string {
  return `'${script.replaceAll("'", `'\\''`)}'`;
}
