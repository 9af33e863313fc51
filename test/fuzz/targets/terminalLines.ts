import { isDeepStrictEqual } from "node:util";
import { bashWord, readBashLine } from "../../../src/cli/completion/bashLine.ts";
import { placeLinks } from "../../../src/extension/log/placeLinks.ts";
import { parseStat } from "../../../src/service/runner/processes/linuxProcesses.ts";
import { cgroupMounts, ownCgroup } from "../../../src/service/runner/processes/ownCgroup.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";

export const terminalLinesTarget: Target = {
  name: "terminal-lines",
  property:
    "a typed line, a line of a log and the system's own files are taken apart without loss, in bounded work",
  covers: [
    "src/cli/completion/bashLine.ts",
    "src/extension/log/placeLinks.ts",
    "src/service/runner/processes/ownCgroup.ts",
    "src/service/runner/processes/linuxProcesses.ts",
  ],
  seeds: [
    "pipeline run 'it''s' \"a \\$b\" c\\ d --project=x",
    "at Object.<anonymous> (/home/me/a.ts:10:3) file:///x/y.js:1 C:\\x\\y.cs(3,5) src/a.ts:7",
    "12 (a) b) S 1 12 12 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5551 0 0",
    "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n31 23 0:27 /a\\040b /x\\040y rw - cgroup2 x rw\n\n0::/user.slice/a b",
  ],
  words: [":1:2", "(1,2)", "0::/", " - cgroup2 ", "\\040", "../", "'", '"', "\\ ", ") S "],
  longest: 5 * 1024,
  mostSteps: ({ length }) => 20_000 + length * 100,
  open: () => ({ check }),
};

const breaks = " \t\n\"'><=;|&(:";

function check(text: string): void {
  const line = readBashLine(text, breaks);
  must(line.current.startsWith(line.kept), "what bash keeps of a word is its beginning", () => line);
  checkWord(text.replaceAll(/[\0\n]/g, ""));
  checkLinks(text);
  const stat = parseStat(text);
  must(stat === undefined || stat.state !== undefined, "a process has a state", () => stat);
  const [mounts = "", membership = ""] = text.split("\n\n");
  const own = ownCgroup(mounts, membership);
  must(
    own === undefined || !own.split("/").includes("..") || /\.\./.test(mounts),
    "a cgroup is below where it is mounted",
    () => own,
  );
  must(
    cgroupMounts(mounts).length <= mounts.split("\n").length,
    "a line is one mount at the most",
    () => mounts,
  );
}

function checkWord(word: string): void {
  if (word === "" || !word.isWellFormed()) return;
  for (const quote of ["", "'", '"'] as const) {
    const written = bashWord(word, { before: [], current: "", kept: "", quote });
    const read = readBashLine(`${quote}${written}${quote}`, breaks);
    must(
      isDeepStrictEqual([...read.before, read.current], [word]),
      "a word that bash is given is the word that is meant",
      () => ({ quote, written, read, word }),
    );
  }
}

function checkLinks(text: string): void {
  let end = 0;
  for (const link of placeLinks(text)) {
    must(
      link.start >= end && link.end > link.start && link.end <= text.length,
      "links stand one behind the other in the line",
      () => link,
    );
    must(
      text.slice(link.start, link.end).startsWith(link.path),
      "a link's path is what stands there",
      () => ({ link, text }),
    );
    must(link.line >= 0 && link.column >= 0 && link.path !== "", "a link leads to a place", () => link);
    end = link.end;
  }
}
