import assert from "node:assert/strict";
import { access, chmod, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { hurried } from "../../clock/preload.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { at, sendShape, startsAnswered } from "./givenService.ts";
import { posixRowCase, rowCase } from "./row.ts";
import { type ServedTool, servedTool } from "./servedTool.ts";
import { onlyObject, type Told } from "./watchedTool.ts";

const usedUp = { name: "free-day", body: '{"error":"too-many-runs","scope":"free-day"}' };
const taken = { name: "org", body: '{"error":"too-many-runs","scope":"org"}' };

/** Names that a shell would read otherwise, if they were pasted as they are. */
const names = [
  "two words",
  "it's",
  "$(touch pwned)",
  "`touch pwned`",
  "$HOME",
  "a|b&c;touch pwned>pwned",
  "*",
  "[a-z]?",
  "~",
  "#not a comment",
  "back\\slash",
  "FOO=bar",
  "{a,b}",
  "-",
  "--help",
  "--parallel=3",
  "größe ⚙ 夜",
  "'",
  " leading and trailing ",
];

describe("conformance: hints that are pasted", () => {
  let served: ServedTool;
  before(async () => {
    served = await servedTool();
  });
  after(() => served[Symbol.asyncDispose]());

  /** Pastes lines into a shell that has `pipeline` on its PATH, in the project's folder. */
  async function paste(lines: readonly string[], env: Readonly<Record<string, string>>) {
    const onPath = join(served.data, "pipeline");
    await writeFile(onPath, `#!/bin/sh\nexec '${process.execPath}' '${served.path}' "$@"\n`);
    await chmod(onPath, 0o755);
    const { PATH = "" } = process.env;
    return execa("sh", [], {
      cwd: served.project,
      env: { ...env, PATH: `${served.data}${delimiter}${PATH}` },
      input: `${lines.join("\n")}\n`,
      reject: false,
    });
  }

  posixRowCase(
    "contract, The command-line tool: rule 3",
    "each hint asks for the very name that was refused, and for nothing else",
    async () => {
      const asked: string[] = [];
      await using service = await startsAnswered(({ body }, response) => {
        asked.push(JSON.parse(body).pipeline);
        sendShape(response, usedUp);
      });
      const { exitCode, stdout } = await served.run(["run", "--", ...names], at(service));
      assert.equal(exitCode, 5);
      asked.length = 0;
      const hints: string[] = onlyObject(stdout).hints.map(({ command }: Told) => command);
      // The words as the shell takes them, a hint a line, in place of a process for each.
      const said = `pipeline() { printf '%s\\0' "$@"; echo; }\n${hints.join("\n")}`;
      const { stdout: lines } = await execa("sh", ["-c", said], { cwd: served.project });
      for (const line of lines.split("\n")) await served.call(line.split("\0").slice(0, -1), at(service));
      assert.deepEqual(asked, names);
      await assert.rejects(access(join(served.project, "pwned")), "nothing else was run");
    },
  );

  posixRowCase(
    "contract, The command-line tool: rule 4",
    "the first hint gives up the slot, and the second one then runs the pipeline",
    async () => {
      const name = "late_again.2";
      await served.write(name, programPipeline(""));
      await served.write("long", programPipeline(untilCancelled, "1h"));
      await using full = await startsAnswered((_, response) => sendShape(response, taken));
      const { stdout } = await served.run(["run", name], { ...at(full), ...hurried(1000) });
      const hints: string[] = onlyObject(stdout).hints.map(({ command }: Told) => command);
      assert.equal(hints.length, 2);
      const someone = await served.member();
      const run = await someone.start("long");
      const { exitCode, stdout: told } = await paste(hints, someone.env);
      assert.equal(exitCode, 0);
      assert.match(told, /succeeded/);
      const { runs } = await someone.told("GET", "/api/runs");
      assert.deepEqual(
        runs.map(({ pipeline, status }: Told) => [pipeline, status]),
        [
          [name, "succeeded"],
          ["long", "cancelled"],
        ],
      );
      assert.equal(runs[1]["run-id"], run["run-id"]);
    },
  );

  rowCase(
    "contract, The command-line tool: rule 3",
    "a name of two lines is wrong usage: no hint could hold it",
    async () => {
      await using service = await startsAnswered((_, response) => sendShape(response, usedUp));
      for (const name of ["a\nb", "a\rb", "\t", ""]) {
        const { exitCode, stdout } = await served.call(["run", name], at(service));
        assert.deepEqual([exitCode, stdout], [2, ""]);
      }
      assert.deepEqual(service.asked, []);
    },
  );
});
