import { type Command, CommanderError } from "commander";
import { wantedWord } from "../../../src/cli/completion/wantedWord.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { unshown } from "../../../src/contract/unshown.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";

export const commandLineTarget: Target = {
  name: "command-line",
  property:
    "a command line is understood, or refused as wrong usage in words that drive no terminal; at any place of it something may be suggested",
  covers: ["src/cli", "node_modules/commander/lib"],
  seeds: [
    "run\nhello\n--parallel\n2\n--time-limit\n5m",
    "runs\ncancel\n--mine",
    "runs\nlist\n--status=in-work,failed\n--limit\n5\n--json",
    "runs\nlog\nrun_1\n--raw",
    "keys\ncreate\n--role\nowner\n--org\nlamps\n--data-dir\n/x",
    "serve\n--port\n0\n--json",
    "login\nhttps://pipelines.example.com\n--with-key",
    "validate\na.yaml\n-",
    "help\nruns\ncancel",
    "completion\nbash",
    "--version",
    "run\n--\n-x",
  ],
  words: ["--", "-", "--=", "--json", "-q", "--no-color", "-h", "--help", "\n--", "\n"],
  longest: 400,
  batch: 20,
  mostSteps: () => 8_000_000,
  open: () => ({ check }),
};

const hidden = new RegExp(`(?![\\n\\t])[${unshown}]`, "u");

/** A word a line. */
async function check(input: string): Promise<void> {
  const line = input.split("\n");
  const said: string[] = [];
  const performed: string[] = [];
  const program = createProgram({
    version: "0.4.0",
    env: {},
    line,
    perform: async (command) => {
      performed.push(command);
    },
  });
  // What the program writes by itself is kept, its own words for an error among them.
  quiet(program, said);
  try {
    await program.parseAsync(line, { from: "user" });
    must(performed.length === 1, "a line that is understood is one command", () => ({ line, performed }));
  } catch (error) {
    must(error instanceof CommanderError, "a line that isn't understood is wrong usage", () => error);
    must(performed.length === 0, "a line that isn't understood does nothing", () => performed);
    must(said.join("").trim() !== "", "a line that isn't understood is told why", () => ({ line, error }));
  }
  const text = said.join("");
  must(!hidden.test(text), "what is said of a line drives no terminal", () => text);
  must(!/\n\s+at /.test(text), "nobody is shown a stack", () => text);
  const all = createProgram({ version: "0.4.0", env: {}, perform: async () => {} });
  for (let at = 0; at <= Math.min(line.length, 6); at++) {
    const wanted = wantedWord(all, line.slice(0, at), line[at] ?? "");
    must(
      wanted.kind === "value" || wanted.words.every(({ word }) => word !== ""),
      "what may be typed is a word",
      () => wanted,
    );
  }
}

/** Has a program and all below it write into a list. */
function quiet(program: ReturnType<typeof createProgram>, said: string[]): void {
  const write = (text: string) => void said.push(text);
  const each = (command: Command): void => {
    command.configureOutput({ writeOut: write, writeErr: write });
    command.commands.forEach(each);
  };
  each(program);
}
