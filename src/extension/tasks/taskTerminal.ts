import type { Pseudoterminal } from "vscode";
import { exitCodes } from "../../contract/errors.ts";
import { sanitizeForTerminal } from "../../text/controlCharacters.ts";
import { Emitter } from "../window/observable.ts";

/** How a task is ended early, as the tool in a terminal (contract: "The command-line tool"). */
export interface TaskSignals {
  /** Aborted by the first Ctrl-C, and when the terminal or the window closes. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C: nothing is awaited any more. */
  readonly leaving: AbortSignal;
}

/** A task's output and its signals. */
export interface TaskIo {
  readonly screen: TaskScreen;
  readonly signals: TaskSignals;
}

/** Runs a task. @returns its exit code. Never rejects. */
export type TaskAction = (place: TaskIo) => Promise<number>;

const ctrlC = "\u0003";

/** The terminal of one task, which ends with the task's exit code. */
export class TaskTerminal implements Pseudoterminal {
  readonly onDidWrite: Pseudoterminal["onDidWrite"];
  readonly onDidClose: NonNullable<Pseudoterminal["onDidClose"]>;
  readonly #act: TaskAction;
  readonly #ended: AbortSignal;
  readonly #interrupted = new AbortController();
  readonly #leaving = new AbortController();
  readonly #closed = new Emitter<number>();
  readonly #screen: TaskScreen;
  #isOver = false;

  /** @param ended aborts when the extension ends, which interrupts the task. */
  constructor(act: TaskAction, ended: AbortSignal) {
    const written = new Emitter<string>();
    this.onDidWrite = (listener) => written.subscribe(listener);
    this.onDidClose = (listener) => this.#closed.subscribe(listener);
    this.#act = act;
    this.#ended = ended;
    this.#screen = new TaskScreen((text) => {
      if (!this.#isOver) written.emit(text);
    });
  }

  /** Begins the task; earlier output would be lost. */
  open(): void {
    this.#ended.addEventListener("abort", this.#interrupt, { once: true });
    if (this.#ended.aborted) this.#interrupt();
    const { signal: interrupted } = this.#interrupted;
    const { signal: leaving } = this.#leaving;
    void this.#act({ screen: this.#screen, signals: { interrupted, leaving } }).then((exitCode) =>
      this.#end(exitCode),
    );
  }

  /** Called when the person or the editor closes the terminal. */
  close(): void {
    this.#interrupt();
  }

  handleInput(data: string): void {
    for (const key of data) if (key === ctrlC) this.#interruptOrLeave();
  }

  #interruptOrLeave(): void {
    if (!this.#interrupted.signal.aborted) {
      this.#interrupt();
      return;
    }
    this.#leaving.abort(this.#interrupted.signal.reason);
    this.#end(exitCodes.interrupted);
  }

  #end(exitCode: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended.removeEventListener("abort", this.#interrupt);
    this.#closed.emit(exitCode);
  }

  readonly #interrupt = (): void => this.#interrupted.abort(new Error("the task was interrupted"));
}

const esc = "\u001b";
/** Clears the line. */
const clearLine = `\r${esc}[2K`;
/** A passing line must not wrap, since its second line would stay. */
const noWrap = `${esc}[?7l`;
const wrap = `${esc}[?7h`;

/** SGR sequences, in the theme's colours. */
export const style = {
  bold: (text: string) => `${esc}[1m${text}${esc}[22m`,
  dim: (text: string) => `${esc}[2m${text}${esc}[22m`,
  bad: (text: string) => `${esc}[31m${text}${esc}[39m`,
  good: (text: string) => `${esc}[32m${text}${esc}[39m`,
} as const;

/**
 * The output of a task: lines that stay, and at most one that the next output replaces. Only colours in it drive the
 * terminal, whatever its origin.
 */
export class TaskScreen {
  readonly #write: (text: string) => void;
  #isPassing = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  line(text: string): void {
    this.clear();
    this.#write(`${sanitizeForTerminal(text, true).replaceAll("\n", "\r\n")}\r\n`);
  }

  /** Shows a line until the next output. */
  passing(text: string): void {
    this.#write(`${clearLine}${noWrap}${sanitizeForTerminal(text, true)}${wrap}`);
    this.#isPassing = true;
  }

  /** Removes the passing line. */
  clear(): void {
    if (this.#isPassing) this.#write(clearLine);
    this.#isPassing = false;
  }
}
