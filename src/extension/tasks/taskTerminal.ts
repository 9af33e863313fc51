import type { Pseudoterminal, TerminalDimensions } from "vscode";
import type { Stream } from "../../cli/terminal/terminal.ts";
import { exitCodes } from "../../contract/errors.ts";
import { Emitter } from "../window/observable.ts";

/** A task's terminal, and how the task is ended early, as the tool in a terminal (contract: "The command-line tool"). */
export interface TaskIo {
  /** Takes what has been made safe for a terminal. */
  readonly stream: Stream;
  /** Aborted by the first Ctrl-C, and when the terminal or the window closes. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C: nothing is awaited any more. */
  readonly leaving: AbortSignal;
}

const ctrlC = "\u0003";

/** The terminal of one task, which ends with the task's exit code. */
export class TaskTerminal implements Pseudoterminal {
  readonly onDidWrite: Pseudoterminal["onDidWrite"];
  readonly onDidClose: NonNullable<Pseudoterminal["onDidClose"]>;
  readonly #act: (io: TaskIo) => Promise<number>;
  readonly #ended: AbortSignal;
  readonly #interrupted = new AbortController();
  readonly #leaving = new AbortController();
  readonly #written = new Emitter<string>();
  readonly #closed = new Emitter<number>();
  #size: TerminalDimensions | undefined;
  #isOver = false;

  /**
   * @param act runs the task; resolves to its exit code and never rejects.
   * @param ended aborts when the extension ends, which interrupts the task.
   */
  constructor(act: (io: TaskIo) => Promise<number>, ended: AbortSignal) {
    this.onDidWrite = (listener) => this.#written.subscribe(listener);
    this.onDidClose = (listener) => this.#closed.subscribe(listener);
    this.#act = act;
    this.#ended = ended;
  }

  /** Begins the task; earlier output would be lost. */
  open(size?: TerminalDimensions): void {
    this.#size = size;
    this.#ended.addEventListener("abort", this.#interrupt, { once: true });
    if (this.#ended.aborted) this.#interrupt();
    const { signal: interrupted } = this.#interrupted;
    const { signal: leaving } = this.#leaving;
    void this.#act({ stream: this.#stream(), interrupted, leaving }).then((exitCode) => this.#end(exitCode));
  }

  setDimensions(size: TerminalDimensions): void {
    this.#size = size;
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

  #stream(): Stream {
    const columns = () => this.#size?.columns ?? 80;
    const rows = () => this.#size?.rows ?? 24;
    return {
      isTTY: true,
      get columns() {
        return columns();
      },
      get rows() {
        return rows();
      },
      // No terminal driver is between that would return the carriage.
      write: (text) => this.#isOver || this.#written.emit(text.replaceAll(/\r?\n/g, "\r\n")),
    };
  }
}
