import { t } from "@vscode/l10n";
import type { Progress, window as vscodeWindow } from "vscode";
import { ProgressLocation } from "../editorNumbers.ts";
import type { Wait, Waits } from "../waits.ts";

/** The start was given up by the person while it waited for a place. */
export class StoppedWaiting extends Error {
  override readonly name = "StoppedWaiting";
}

/**
 * Shows the wait for a place: a notification with the seconds left, who holds the place, and a way to stop; and the
 * seconds in the status bar. It appears only once there is something to wait for.
 */
export class WaitNotice implements Disposable {
  readonly #pipeline: string;
  readonly #window: Pick<typeof vscodeWindow, "withProgress">;
  readonly #holder: () => string | undefined;
  readonly #wait: ReturnType<Waits["begin"]>;
  readonly #stopped = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #progress: Progress<{ message: string }> | undefined;
  #shown = false;

  /** @param holder says who holds the place now; undefined while that isn't known. */
  constructor(
    wish: Pick<Wait, "pipeline" | "project">,
    window: Pick<typeof vscodeWindow, "withProgress">,
    waits: Waits,
    holder: () => string | undefined = () => undefined,
  ) {
    this.#pipeline = wish.pipeline;
    this.#window = window;
    this.#holder = holder;
    this.#wait = waits.begin(wish, () => this.#stop());
  }

  /** Aborted with a {@link StoppedWaiting} when the person stops waiting. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  tell(secondsLeft: number): void {
    if (this.signal.aborted) return;
    this.#wait.tell(secondsLeft);
    const holder = this.#holder();
    const message =
      holder === undefined
        ? t("{0} s left", secondsLeft)
        : t("{0} s left; place held by {1}", secondsLeft, holder);
    this.#progress?.report({ message });
    if (this.#shown) return;
    this.#shown = true;
    const title = t("Waiting for a place to run {0}", this.#pipeline);
    this.#window.withProgress(
      { location: ProgressLocation.notification, title, cancellable: true },
      (progress, token) => {
        this.#progress = progress;
        progress.report({ message });
        token.onCancellationRequested(() => this.#stop());
        return this.#over.promise;
      },
    );
  }

  /** Ends the notification and the status bar's wait; whatever comes after it is told in their place. */
  [Symbol.dispose](): void {
    this.#wait.end();
    this.#over.resolve();
  }

  /** The notification goes at once, also where the service takes a moment to let go of the start. */
  #stop(): void {
    this.#stopped.abort(new StoppedWaiting("stopped waiting"));
    this[Symbol.dispose]();
  }
}
