import assert from "node:assert/strict";
import { type Command, CommanderError } from "commander";
import { bashWord, readBashLine, wantedWord } from "../../../src/cli/completion/wantedWord.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { findFileLinks } from "../../../src/extension/log/fileLinks.ts";
import { parseStat } from "../../../src/runner/processes/linuxProcesses.ts";
import { cgroupMounts, ownCgroup } from "../../../src/runner/processes/runCgroups.ts";
import { controlCharacters } from "../../../src/text/controlCharacters.ts";
import { holdsNear } from "../../near.ts";

describe("command lines", () => {
  it("a command line is understood, or refused as wrong usage in words that drive no terminal; at any place of it something may be suggested", () =>
    holdsNear(
      {
        like: [
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
      },
      checkCommandLine,
    ));
});

describe("lines of terminals and of the system", () => {
  it("a typed line, a line of a log and the system's own files are taken apart without loss", () =>
    holdsNear(
      {
        like: [
          "pipeline run 'it''s' \"a \\$b\" c\\ d --project=x",
          "at Object.<anonymous> (/home/me/a.ts:10:3) file:///x/y.js:1 C:\\x\\y.cs(3,5) src/a.ts:7",
          "12 (a) b) S 1 12 12 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5551 0 0",
          "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n31 23 0:27 /a\\040b /x\\040y rw - cgroup2 x rw\n\n0::/user.slice/a b",
        ],
        words: [":1:2", "(1,2)", "0::/", " - cgroup2 ", "\\040", "../", "'", '"', "\\ ", ") S "],
        broke: ["\ufeff"],
        longest: 5 * 1024,
      },
      checkLine,
    ));
});

const hidden = new RegExp(`(?![\\n\\t])[${controlCharacters}]`, "u");

/** A word a line. */
async function checkCommandLine(input: string): Promise<void> {
  const line = input.split("\n");
  const said: string[] = [];
  const performed: string[] = [];
  const program = createProgram({
    version: "0.4.0",
    line,
    perform: async (command) => {
      performed.push(command);
    },
  });
  // What the program writes by itself is kept, its own words for an error among them.
  quiet(program, said);
  try {
    await program.parseAsync(line, { from: "user" });
    assert(performed.length === 1, "a line that is understood is one command");
  } catch (error) {
    assert(error instanceof CommanderError, "a line that isn't understood is wrong usage");
    assert(performed.length === 0, "a line that isn't understood does nothing");
    assert(said.join("").trim() !== "", "a line that isn't understood is told why");
  }
  const text = said.join("");
  assert(!hidden.test(text), "what is said of a line drives no terminal");
  assert(!/\n\s+at /.test(text), "nobody is shown a stack");
  const all = createProgram({ version: "0.4.0", perform: async () => {} });
  for (let at = 0; at <= Math.min(line.length, 6); at++) {
    const wanted = wantedWord(all, line.slice(0, at), line[at] ?? "");
    assert(
      typeof wanted.of === "string" || wanted.of.every(({ word }) => word !== ""),
      "what may be typed is a word",
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

const breaks = " \t\n\"'><=;|&(:";

function checkLine(text: string): void {
  const line = readBashLine(text, breaks);
  assert(line.current.startsWith(line.prefix), "what bash keeps of a word is its beginning");
  checkWord(text.replaceAll(/[\0\n]/g, ""));
  checkLinks(text);
  const stat = parseStat(text);
  assert(stat === undefined || stat.state !== undefined, "a process has a state");
  const [mounts = "", membership = ""] = text.split("\n\n");
  const own = ownCgroup(mounts, membership);
  assert(
    own === undefined || !own.split("/").includes("..") || /\.\./.test(mounts),
    "a cgroup is below where it is mounted",
  );
  assert(cgroupMounts(mounts).length <= mounts.split("\n").length, "a line is one mount at the most");
}

function checkWord(word: string): void {
  if (word === "" || !word.isWellFormed()) return;
  for (const quote of ["", "'", '"'] as const) {
    const written = bashWord(word, { before: [], current: "", prefix: "", quote });
    const read = readBashLine(`${quote}${written}${quote}`, breaks);
    assert.deepEqual(
      [...read.before, read.current],
      [word],
      "a word that bash is given is the word that is meant",
    );
  }
}

function checkLinks(text: string): void {
  let end = 0;
  for (const link of findFileLinks(text)) {
    assert(
      link.start >= end && link.end > link.start && link.end <= text.length,
      "links stand one behind the other in the line",
    );
    assert(text.slice(link.start, link.end).startsWith(link.path), "a link's path is what stands there");
    assert(link.line >= 0 && link.column >= 0 && link.path !== "", "a link leads to a place");
    end = link.end;
  }
}
