import { execa } from "execa";
import type { toolbox } from "./toolbox.ts";

/** How wide the terminal is, in characters. */
export const columns = 44;

/** The tool on a terminal of its own, whose raw output is what `stdout` gives; `script` is a part of every Linux. */
export function onTerminal(
  tool: Awaited<ReturnType<typeof toolbox>>,
  line: string,
  more: Record<string, string> = {},
  width = columns,
) {
  const words = `stty cols ${width} rows 12; exec '${process.execPath}' '${tool.path}' ${line}`;
  return execa("script", ["-qec", words, "/dev/null"], {
    cwd: tool.project,
    env: { ...tool.env, TERM: "xterm", LANG: "C.UTF-8", CI: undefined, NO_COLOR: undefined, ...more },
    reject: false,
    stripFinalNewline: false,
  });
}
