import type { Progress, window as vscodeWindow } from "vscode";
import { ProgressLocation } from "./editorNumbers.ts";
import type { Waits } from "./waits.ts";

/** The start was given up by the person while it waited for a place. */
export class StoppedWaiting extends Error {
  override readonly name = "StoppedWaiting";
}

/**
 * Shows the wait for a place: a notification with the seconds left and a way to stop, and the same in the status bar.
 * It appears only once there is something to wait for.
 */
export class WaitNotice implements Disposable {
  readonly #pipeline: string;
  readonly #window: Pick<typeof vscodeWindow, "withProgress">;
  readonly #wait: ReturnType<Waits["begin"]>;
  readonly #stopped = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #progress: Progress<{ message: string }> | undefined;
  #shown = false;

  constructor(pipeline: string, window: Pick<typeof vscodeWindow, "withProgress">, waits: Waits) {
    this.#pipeline = pipeline;
    this.#window = window;
    this.#wait = waits.begin(pipeline);
  }

  /** Aborted with a {@link StoppedWaiting} when the person stops waiting. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  tell(secondsLeft: number): void {
    this.#wait.tell(secondsLeft);
    const message = `${secondsLeft} s left`;
    this.#progress?.report({ message });
    if (this.#shown) return;
    this.#shown = true;
    const title = `Waiting for a place to run ${this.#pipeline}`;
    this.#window.withProgress(
      { location: ProgressLocation.notification, title, cancellable: true },
      (progress, token) => {
        this.#progress = progress;
        progress.report({ message });
        token.onCancellationRequested(() => this.#stopped.abort(new StoppedWaiting("stopped waiting")));
        return this.#over.promise;
      },
    );
  }

  [Symbol.dispose](): void {
    this.#wait.end();
    this.#over.resolve();
  }
}
