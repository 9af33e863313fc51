import { copyFileSync, fstatSync, statSync, truncateSync, writeSync } from "node:fs";
import { describeError, PipelineError } from "../contract/errors.ts";
import { escapeControlCharacters } from "../text/controlCharacters.ts";
import { hideSecrets } from "./apiSecret.ts";

const levels = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof levels)[number];

export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

/**
 * Logs one JSON line per entry, from the level `least` on. Callers pass ids, never keys or the content of a request; a key
 * inside an error's message is hidden.
 */
export function lineLog(write: (line: string) => void, now: () => number, least: LogLevel = "info"): Log {
  return (level, message, facts = {}) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const entry: Record<string, unknown> = { time: new Date(now()).toISOString(), level, message };
    for (const name in facts) {
      const fact = facts[name];
      entry[name] = fact instanceof Error ? describeError(fact) : fact;
    }
    write(`${hideSecrets(escapeControlCharacters(JSON.stringify(entry)))}\n`);
  };
}

/** The level that `PIPELINE_LOG_LEVEL` names; `info` without it. @throws PipelineError `usage` for any other word. */
export function logLevel(env: Readonly<Record<string, string | undefined>>): LogLevel {
  const named = env["PIPELINE_LOG_LEVEL"];
  if (named === undefined || named === "") return "info";
  const level = levels.find((known) => known === named);
  if (level !== undefined) return level;
  throw new PipelineError(
    "usage",
    `PIPELINE_LOG_LEVEL should be one of ${levels.join(", ")}, not ${named}.`,
    {
      next: "Set it to one of them, or leave it out.",
    },
  );
}

/** The bytes after which a log starts again. The previous log stays as `<name>.1`. */
const largestBytes = 1024 * 1024;

/** Writes lines to standard error. A full disk doesn't end the service. */
export function standardErrorLog(): (line: string) => void {
  const { fd } = process.stderr;
  if (isFile(fd)) return (line) => writeAll(fd, Buffer.from(line));
  // The reader of a pipe may be gone.
  process.stderr.on("error", () => {});
  return (line) => void process.stderr.write(line);
}

/**
 * Writes lines to standard error, and bounds its size where it is the file at `path`. The file is truncated and not
 * replaced: whoever started the service has opened it for Node's own messages of a crash, too.
 */
export function boundedLog(path: string, atMost = largestBytes): (line: string) => void {
  const { fd } = process.stderr;
  if (!isSameFile(fd, path)) return standardErrorLog();
  let { size } = fstatSync(fd);
  return (line) => {
    const bytes = Buffer.from(line);
    if (size > 0 && size + bytes.length > atMost) {
      startAgain(path);
      size = 0;
    }
    writeAll(fd, bytes);
    size += bytes.length;
  };
}

/** Ignores errors: a service that can't write its log goes on. */
function writeAll(descriptor: number, bytes: Buffer): void {
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
  } catch {
    // There is nowhere to report it.
  }
}

function startAgain(path: string): void {
  try {
    copyFileSync(path, `${path}.1`);
  } catch {
    // Losing the old lines is better than a log without a bound.
  }
  try {
    truncateSync(path);
  } catch {
    // Tried again with the next line.
  }
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

function isSameFile(descriptor: number, path: string): boolean {
  try {
    const open = fstatSync(descriptor, { bigint: true });
    const named = statSync(path, { bigint: true });
    return open.isFile() && open.ino === named.ino && open.dev === named.dev;
  } catch {
    return false;
  }
}
