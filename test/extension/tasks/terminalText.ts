import { TaskScreen } from "../../../src/extension/tasks/taskTerminal.ts";
import { stripEscapeSequences } from "../../../src/text/escapeSequences.ts";

/** A screen whose lines a test reads as a person does: without looks, and without what was printed over. */
export function readScreen() {
  let written = "";
  const screen = new TaskScreen((text) => {
    written += text;
  });
  return {
    screen,
    /** All that was written, as the terminal got it. */
    get raw() {
      return written;
    },
    get lines(): string[] {
      return linesOf(written);
    },
  };
}

/** The lines that stand on a terminal which got this. */
export function linesOf(written: string): string[] {
  const lines = written
    .split("\r\n")
    .map((line) => stripEscapeSequences(line.slice(line.lastIndexOf("\r") + 1)));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
