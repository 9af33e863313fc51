import type { Stream } from "../../../src/cli/terminal/terminal.ts";
import { Screen } from "../../cli/screen.ts";

const columns = 400;

/** A task's stream whose lines a test reads as a person does: without colours, and without what was drawn over. */
export function readScreen() {
  const screen = new Screen(columns);
  let raw = "";
  const write = (text: string): void => {
    raw += text;
    screen.write(text.replaceAll("\n", "\r\n"));
  };
  return {
    stream: { isTTY: true, columns, rows: 24, write } satisfies Stream,
    /** All that was written. */
    get raw() {
      return raw;
    },
    get lines() {
      return linesOf(screen);
    },
  };
}

/** The lines that stand on a terminal. */
function linesOf(screen: Screen): string[] {
  const lines = screen.text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
