/**
 * Leaves the terminal in order when the person suspends the tool (Ctrl-Z): until it goes on, the terminal belongs to
 * others. Windows knows no such thing.
 */
export class Suspension implements Disposable {
  readonly #release: () => void;

  constructor(release: () => void, platform: NodeJS.Platform = process.platform) {
    this.#release = release;
    if (platform !== "win32") process.on("SIGTSTP", this.#onSuspend);
  }

  [Symbol.dispose](): void {
    process.off("SIGTSTP", this.#onSuspend);
  }

  readonly #onSuspend = (): void => {
    this.#release();
    process.kill(process.pid, "SIGSTOP");
  };
}
