import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { duration } from "../../text/time.ts";
import { endPrograms } from "../processes/endProcesses.ts";

/** A step's program that was started. */
export interface Program {
  readonly child: ChildProcess;
  /** Settles when it has ended; rejects on Windows where there is none. */
  readonly exited: Promise<unknown>;
}

/** From SIGTERM to SIGKILL for a program whose step has failed while it runs. */
const graceMilliseconds = 1000;

export function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

export function howItEnded({ exitCode, signalCode }: ChildProcess): string {
  return signalCode === null ? `exited with ${exitCode}` : `was ended by ${signalCode}`;
}

/** Ends the program, with its group, unless it has ended. */
export async function endProgram({ child, exited }: Program): Promise<void> {
  if (child.pid === undefined || !isRunning(child)) return;
  const settled = new AbortController();
  void endPrograms([child.pid], graceMilliseconds, settled.signal);
  await exited;
  settled.abort();
}

/**
 * Waits until the program has ended.
 * @param timeoutMilliseconds after which it is ended.
 * @returns that this was so.
 */
export async function problemOfTime(
  program: Program,
  timeoutMilliseconds: number | undefined,
): Promise<string | undefined> {
  const { exited } = program;
  if (timeoutMilliseconds === undefined) {
    await exited;
    return undefined;
  }
  const late = pause(timeoutMilliseconds, true, { ref: false });
  const isLate = await Promise.race([exited.then(() => false), late]);
  if (!isLate) return undefined;
  await endProgram(program);
  return `wasn't over within ${duration(timeoutMilliseconds)}, its \`timeout\``;
}
