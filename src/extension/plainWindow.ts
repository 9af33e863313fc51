import type * as vscode from "vscode";
import { unshown } from "../contract/unshown.ts";

type Messages = Pick<
  typeof vscode.window,
  "showInformationMessage" | "showWarningMessage" | "showErrorMessage" | "withProgress"
>;

/**
 * The editor's window whose notifications show every text as it is. Names, reasons and outputs come from elsewhere, and the
 * editor would make a link of `[text](command:…)` in them, which runs a command of any extension when it is clicked.
 */
export function plainWindow<Window extends Messages>(window: Window): Window {
  const plain = {
    showInformationMessage: (text: string, ...others: never[]) =>
      window.showInformationMessage(plainText(text), ...others),
    showWarningMessage: (text: string, ...others: never[]) =>
      window.showWarningMessage(plainText(text), ...others),
    showErrorMessage: (text: string, ...others: never[]) =>
      window.showErrorMessage(plainText(text), ...others),
    withProgress: plainProgress(window),
  };
  // The editor's own object may be frozen; what is not here is its.
  return Object.create(window, Object.getOwnPropertyDescriptors(plain));
}

function plainProgress(window: Messages): Messages["withProgress"] {
  return (options, task) =>
    window.withProgress(
      { ...options, ...(options.title === undefined ? {} : { title: plainText(options.title) }) },
      (progress, token) =>
        task(
          {
            report: (value) =>
              progress.report(
                value.message === undefined ? value : { ...value, message: plainText(value.message) },
              ),
          },
          token,
        ),
    );
}

const hidden = new RegExp(`(?![\\n\\t])[${unshown}]`, "gu");

/** The text without what drives a screen, and without what the editor takes for a link. */
export function plainText(text: string): string {
  return text.replace(hidden, "").replaceAll("](", "] (");
}
