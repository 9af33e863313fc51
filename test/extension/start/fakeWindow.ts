import type { CancellationToken, Progress } from "vscode";
import { Told } from "../../client/told.ts";

interface Shown {
  readonly kind: "info" | "warning" | "error" | "progress" | "status";
  readonly text: string;
  readonly buttons: readonly string[];
}

/** A window of the editor: it notes what it is shown, and presses the buttons that the test has named, in their order. */
export function fakeWindow(presses: string[]) {
  const shown = new Told<Shown>();
  const notify =
    (kind: Shown["kind"]) =>
    async (text: string, ...buttons: string[]) => {
      shown.tell({ kind, text, buttons });
      const press = buttons.find((button) => button === presses[0]);
      if (press !== undefined) presses.shift();
      return press;
    };
  const window = {
    state: { focused: true },
    showInformationMessage: notify("info"),
    showWarningMessage: notify("warning"),
    showErrorMessage: notify("error"),
    setStatusBarMessage: (text: string) => shown.tell({ kind: "status", text, buttons: [] }),
    withProgress: (
      options: { title?: string },
      task: (progress: Progress<{ message: string }>, token: CancellationToken) => Promise<unknown>,
    ) => {
      let cancel = () => {};
      const token = {
        isCancellationRequested: false,
        onCancellationRequested: (listener: () => void) => {
          cancel = listener;
          return { dispose: () => {} };
        },
      };
      const done = task(
        {
          report: ({ message }) =>
            shown.tell({
              kind: "progress",
              text: options.title === undefined ? message : `${options.title}: ${message}`,
              buttons: [],
            }),
        },
        token as never,
      );
      if (presses[0] === "Cancel") {
        presses.shift();
        cancel();
      }
      return done;
    },
  };
  const texts = (kind: Shown["kind"]) => shown.all.filter((one) => one.kind === kind).map(({ text }) => text);
  return { shown, texts, window: window as never };
}
