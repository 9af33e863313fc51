import type { Pseudoterminal, TerminalDimensions } from "vscode";
import type { Stream } from "../../cli/terminal/terminal.ts";
import { exitCodes } from "../../contract/errors.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { Emitter } from "../window/observable.ts";

/** A task's terminal, and the signals that end the task early, as in the tool (contract: "The command-line tool"). */
export interface TaskIo {
  /** Receives text that is already safe for a terminal. */
  readonly stream: Stream;
  /** Aborted by the first Ctrl-C, and when the terminal or the window closes. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C, when nothing more is awaited. */
  readonly leaving: AbortSignal;
}

const ctrlC = "\u0003";

/**
 * The terminal of one task, which ends with the task's exit code.
 * @param act runs the task; resolves to its exit code and never rejects.
 * @param ended aborts when the extension ends, which interrupts the task.
 */
export function taskTerminal(act: (io: TaskIo) => Promise<number>, ended: AbortSignal) {
  const written = new Emitter<string>();
  const closed = new Emitter<number>();
  const interrupting = new AbortController();
  const leaving = new AbortController();
  const interrupted = anySignal([ended, interrupting.signal]);
  let size: TerminalDimensions | undefined;
  let isOver = false;
  const interrupt = () => interrupting.abort(new Error("the task was interrupted"));
  const end = (exitCode: number) => {
    if (!isOver) closed.emit(exitCode);
    isOver = true;
  };
  const stream: Stream = {
    isTTY: true,
    get columns() {
      return size?.columns ?? 80;
    },
    get rows() {
      return size?.rows ?? 24;
    },
    // Adds carriage returns, since there is no terminal driver to do so.
    write: (text) => isOver || written.emit(text.replaceAll(/\r?\n/g, "\r\n")),
  };
  return {
    onDidWrite: (listener) => written.subscribe(listener),
    onDidClose: (listener) => closed.subscribe(listener),
    /** Begins the task; earlier output would be lost. */
    open: (first) => {
      size = first;
      void act({ stream, interrupted, leaving: leaving.signal }).then(end);
    },
    setDimensions: (now) => {
      size = now;
    },
    /** Called when the person or the editor closes the terminal. */
    close: interrupt,
    handleInput: (data) => {
      for (const key of data) {
        if (key !== ctrlC) continue;
        if (interrupted.aborted) {
          leaving.abort(interrupted.reason);
          end(exitCodes.interrupted);
        } else interrupt();
      }
    },
  } satisfies Pseudoterminal;
}
