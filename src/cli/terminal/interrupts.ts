import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { exitCodes } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";

/** The abort reason of a command's signal after Ctrl-C or a termination signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Aborts a signal at the first interrupt, for a graceful end; the second one exits at once. A suspension (Ctrl-Z, not on Windows)
 * releases the terminal first.
 * @param release gives up the terminal; undefined if nothing is drawn.
 */
export function heedInterrupts(release: (() => void) | undefined, { monotonic } = systemClock) {
  const first = new AbortController();
  const second = new AbortController();
  const isAway = isDetached();
  let firstAt = 0;
  const onInterrupt = (name: NodeJS.Signals): void => {
    if (name === "SIGHUP" && isAway) return;
    if (!first.signal.aborted) {
      firstAt = monotonic();
      first.abort(new Interrupted("interrupted"));
      return;
    }
    if (monotonic() - firstAt < echoMilliseconds) return;
    second.abort(first.signal.reason);
    process.exit(exitCodes.interrupted);
  };
  const onSuspend = (): void => {
    release?.();
    process.kill(process.pid, "SIGSTOP");
  };
  for (const name of signalNames) process.on(name, onInterrupt);
  if (release !== undefined && process.platform !== "win32") process.on("SIGTSTP", onSuspend);
  return {
    /** Aborted by the first interrupt. */
    signal: first.signal,
    /** Aborted by the second one, just before the process exits; listeners can still print. */
    leaving: second.signal,
    [Symbol.dispose](): void {
      for (const name of signalNames) process.off(name, onInterrupt);
      process.off("SIGTSTP", onSuspend);
    },
  };
}

/** For Ctrl-C, `kill` or a shutdown, a closed terminal, and Ctrl-\. */
const signalNames = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/**
 * How long after the first interrupt, in milliseconds, another counts as the same one: a program that starts the tool, such as
 * npx or `timeout`, passes on a signal that the terminal has already sent to both.
 */
const echoMilliseconds = 100;

/**
 * Whether the caller has detached the tool from its terminal, as nohup does, so that closing the terminal must not end it.
 * Node.js doesn't keep which signals were ignored at its start, so this checks the streams: none is a terminal, and the output
 * goes to a file or a device such as /dev/null. Always false on Windows.
 */
function isDetached(): boolean {
  if (process.platform === "win32") return false;
  if ([0, 1, 2].some((stream) => isatty(stream))) return false;
  return [1, 2]
    .map((stream) => fstatSync(stream))
    .every((stats) => stats.isFile() || stats.isCharacterDevice());
}
