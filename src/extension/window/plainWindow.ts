import { t } from "@vscode/l10n";
import type * as vscode from "vscode";
import { controlCharacters } from "../../text/controlCharacters.ts";

type Messages = Pick<
  typeof vscode.window,
  "showInformationMessage" | "showWarningMessage" | "showErrorMessage" | "withProgress"
>;

/**
 * The editor's window, with notifications that show every text literally. In foreign texts the editor would render
 * `[text](command:…)` as a link that runs any extension's command; it also does so in the prompt of an input box, which isn't
 * covered here.
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
  // The editor's own object may be frozen. Everything else is inherited from it.
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

const hidden = new RegExp(`(?![\\n\\t])[${controlCharacters}]`, "gu");

/** The text without control characters and without Markdown links. */
export function plainText(text: string): string {
  return text.replace(hidden, "").replaceAll("](", "] (");
}

/** Makes a foreign text safe where the editor would render `$(name)` as an icon. */
export function withoutIcons(text: string): string {
  return text.replaceAll("$(", "$ (");
}

/** Appends plain text word by word: the editor makes the spaces in appended text unbreakable, so long texts wouldn't wrap. */
export function appendWords(
  into: Pick<vscode.MarkdownString, "appendMarkdown" | "appendText">,
  text: string,
): void {
  for (const [index, line] of text.split("\n").entries()) {
    if (index > 0) into.appendMarkdown("  \n");
    for (const [position, word] of line.split(" ").entries()) {
      if (position > 0) into.appendMarkdown(" ");
      into.appendText(word);
    }
  }
}

const aProblem = /^pipelines\/.*\.yaml:\d+:\d+: /;
const andMore = /^and (\d+) more$/;

/** Fits a text on one line: of a pipeline file's problems, the first one and the number of others. */
export function inOneLine(text: string): string {
  const lines = text.split("\n");
  const problems = lines.filter((line) => aProblem.test(line));
  const [first] = problems;
  if (first === undefined) return lines.join(" ");
  const leftOut = lines.map((line) => Number(andMore.exec(line)?.[1] ?? 0));
  const others = leftOut.reduce((one, other) => one + other, problems.length - 1);
  const told = others === 0 ? first : t("{0} (and {1} more)", first, others);
  const before = lines.slice(0, lines.indexOf(first));
  const after = lines
    .slice(lines.lastIndexOf(problems.at(-1) ?? first) + 1)
    .filter((line) => !andMore.test(line));
  const end = after.length === 0 || /[.?!]$/.test(told) ? "" : ".";
  return [...before, `${told}${end}`, ...after].join(" ");
}
