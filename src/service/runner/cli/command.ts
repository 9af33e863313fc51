/** What a step's `run` starts. */
export interface Command {
  readonly file: string;
  readonly words: readonly string[];
  /** Whether `file` is a line for the system's shell. */
  readonly shell: boolean;
}

/** The command for a step's `run`: text goes through the system's shell, a list is a program and its arguments. */
export function commandOf(run: string | readonly string[], platform: NodeJS.Platform): Command {
  if (typeof run === "string") return shellCommand(run, platform);
  const [file = "", ...words] = run;
  return { file, words, shell: false };
}

/**
 * A step is over at the first of its lines that fails: `/bin/sh` is told so, and for `cmd.exe`, which reads only one
 * line, the lines are joined so.
 */
function shellCommand(lines: string, platform: NodeJS.Platform): Command {
  if (platform !== "win32") return { file: "/bin/sh", words: ["-e", "-c", lines], shell: false };
  const commands = lines.split(/\r?\n/).filter((line) => line.trim() !== "");
  return { file: commands.join(" && "), words: [], shell: true };
}

/** What a step's `run` starts, on one line. */
export function describeRun(run: string | readonly string[]): string {
  if (typeof run !== "string") return `$ ${run.map(asWord).join(" ")}`;
  const [first = "", ...others] = run.trim().split(/\r?\n/);
  return others.length === 0 ? `$ ${first}` : `$ ${first} … (${others.length + 1} lines)`;
}

function asWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : JSON.stringify(word);
}
