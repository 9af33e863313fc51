import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { docsPages } from "../../scripts/build/docsPages.ts";
import { readBashLine } from "../../src/cli/completion/wantedWord.ts";
import { outputs } from "../../src/cli/output/outputs.ts";
import { environmentVariables, exitCodeMeanings } from "../../src/cli/program.ts";
import { errorTypes, exitCodes } from "../../src/contract/errors.ts";
import { toolbox } from "./toolbox.ts";
import { allCommands, words } from "./words.ts";

const docs = (page: string) => readFile(join(import.meta.dirname, "../../docs", page), "utf8");

/** The commands that tell nothing with --json. */
const silent = new Set(["help"]);

describe("the tool's help", () => {
  it("is printed by a bare call, by help and by --help, on standard output", async () => {
    await using tool = await toolbox();
    const { stdout: root, stderr, exitCode } = await tool.run([]);
    assert.deepEqual([stderr, exitCode], ["", 0]);
    assert.match(root, /Exit codes:[\s\S]*Environment variables:/);
    assert.equal((await tool.call(["help"])).stdout, root);
    assert.equal((await tool.run(["--help"])).stdout, root);
    const list = await tool.call(["runs", "list", "--help"]);
    assert.equal((await tool.call(["help", "runs", "list"])).stdout, list.stdout);
    assert.match(list.stdout, /^Usage: pipeline runs list/);
    const group = await tool.call(["runs"]);
    assert.deepEqual([group.stderr, group.exitCode], ["", 0]);
    assert.match(group.stdout, /^Usage: pipeline runs/);
  });

  it("is no answer to a script that has left out a command's words, or misspelt them", async () => {
    await using tool = await toolbox();
    for (const args of [["--json"], ["runs", "--json"]]) {
      const { stdout, exitCode } = await tool.call(args);
      assert.equal(exitCode, 2);
      assert.equal(JSON.parse(stdout).error.type, "usage");
    }
    for (const [meant, ...args] of [
      ["run", "rnu"],
      ["run", "help", "rnu"],
      ["runs list", "help", "runs", "lst"],
      ["runs list", "runs", "lst"],
      // What other tools have at their top.
      ["runs log", "logs", "deploy"],
      ["runs cancel", "cancel"],
      ["run", "start", "deploy"],
      ["org", "whoami"],
      ["--version", "version"],
    ] as const) {
      const { stdout, stderr, exitCode } = await tool.call(args);
      assert.deepEqual([stdout, exitCode], ["", 2]);
      assert.match(stderr, /^pipeline: unknown command .*\n/);
      assert.ok(stderr.includes(`\n(Did you mean \`pipeline ${meant}\`?)\nSee \`pipeline`), stderr);
    }
  });

  it("says how an input is given to who writes it as an option or behind the pipeline", async () => {
    await using tool = await toolbox();
    const option = await tool.call(["run", "deploy", "--stage", "prod"]);
    assert.match(
      option.stderr,
      /unknown option '--stage'[\s\S]*\(An input is given by `--input stage=<value>`\.\)/,
    );
    assert.doesNotMatch((await tool.call(["org", "--stage"])).stderr, /--input/);
    assert.doesNotMatch((await tool.call(["run", "deploy", "-v"])).stderr, /--input/);
    assert.match((await tool.call(["run", "deploy", "--timeout", "5m"])).stderr, /by `--time-limit`\.\)/);
    await tool.write("deploy", "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: echo }]\n");
    const behind = await tool.call(["run", "deploy", "stage=prod"]);
    assert.match(behind.stderr, /^An input is given by `--input`/m);
  });

  it("has a purpose for each command, which is half a sentence", () => {
    for (const command of allCommands(words().program).slice(1)) {
      assert.match(command.summary(), /^[a-z].*[^.]$/, command.words());
      assert.match(command.description(), /^[A-Z][\s\S]*\.$/, command.words());
    }
  });

  it("shows only examples that the tool takes", async () => {
    for (const { examples } of words().program.leaves()) {
      for (const [line] of examples) {
        const { program, called } = words();
        const call = /pipeline ([^|<>()]*)/.exec(line)?.[1] ?? "";
        const { before } = readBashLine(`${call.trim()} `, "");
        const silently = { writeOut: () => {}, writeErr: () => {} };
        for (const command of allCommands(program)) command.configureOutput(silently);
        await program.parseAsync(before, { from: "user" }).catch((error: Error) => {
          assert.match(error.message, /outputHelp/, `${line}: ${error.message}`);
        });
        assert(called.length === 1 || before[0] === "help", line);
      }
    }
  });

  it("wraps its prose to the terminal's width alone", () => {
    for (const command of allCommands(words().program)) {
      const lines = command.description().split("\n");
      for (const [at, line] of lines.entries()) {
        assert(line === "" || (lines[at + 1] ?? "") === "", `${command.words()} breaks after: ${line}`);
      }
    }
  });

  it("has an example for each command that takes something", () => {
    for (const command of words().program.leaves()) {
      const takes = command.registeredArguments.length + command.options.length;
      assert(takes === 0 || command.examples.length > 0, `${command.words()} has no example`);
    }
  });

  it("says what an option is in the same way wherever it is the same", () => {
    const said = new Map<string, string>();
    for (const command of allCommands(words().program)) {
      for (const { long, flags } of command.options) {
        if (long == null) continue;
        const before = said.get(long) ?? flags;
        assert.equal(flags, before, `${long} of ${command.words()}`);
        said.set(long, flags);
      }
    }
  });
});

describe("the docs of the tool", () => {
  it("have every command with its help, and what counts (node scripts/docsPages.ts writes them)", async () => {
    for (const [page, text] of docsPages()) assert.equal(await docs(page), text, page);
  });

  it("have every exit code, and no other, as the tool has them", async () => {
    const page = await docs("exit-codes.md");
    const told = [...page.matchAll(/^\| `(\d+)`/gm)].map(([, code]) => Number(code));
    const known = exitCodeMeanings.map(([code]) => code as number);
    assert.deepEqual(told, known);
    const used = [...Object.values(exitCodes), ...Object.values(errorTypes).map((type) => type.exitCode)];
    for (const code of used) assert(known.includes(code), String(code));
    assert.deepEqual(new Set(used), new Set(known));
  });

  it("have every environment variable that the tool heeds", async () => {
    const page = await docs("tool.md");
    for (const [names] of environmentVariables) {
      for (const name of names.split(", ")) assert(page.includes(`\`${name}\``), name);
    }
  });

  it("say what each command prints with --json, and each error's type; no shape is without a command", async () => {
    const page = await docs("tool-json.md");
    const commands = words()
      .program.leaves()
      .map((command) => command.words())
      .filter((each) => !silent.has(each));
    assert.deepEqual(Object.keys(outputs).sort(), commands.sort());
    for (const command of commands) assert(page.includes(`| \`${command}\``), command);
    for (const type of Object.keys(errorTypes)) assert(page.includes(`\`${type}\``), type);
  });
});
