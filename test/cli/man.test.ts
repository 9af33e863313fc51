import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { toolManPage } from "../../src/cli/toolPages.ts";
import { environmentVariables } from "../../src/cli/words/environmentVariables.ts";
import { exitCodeMeanings } from "../../src/cli/words/exitCodeMeanings.ts";
import { allCommands, words } from "./words.ts";

describe("the man page", () => {
  const page = toolManPage(manifest.version);
  const plain = page.replaceAll("\\-", "-").replaceAll("\\&", "");

  it("has every command, argument, option, example, exit code and environment variable", () => {
    const { program } = words();
    for (const command of program.leaves()) {
      assert(plain.includes(`\n.SS "pipeline ${command.words()}`), command.words());
      for (const [line] of command.examples) {
        assert(page.includes(line.slice(0, 12).replaceAll("-", "\\-")), line);
      }
    }
    for (const command of allCommands(program)) {
      for (const { flags } of command.options) assert(plain.includes(`\n.B ${flags}\n`), flags);
    }
    for (const [code] of exitCodeMeanings) assert(plain.includes(`\n.TP\n.B ${code}\n`), String(code));
    for (const [name] of environmentVariables) assert(plain.includes(`\n.B ${name}\n`), name);
  });

  it("has only requests that roff knows, each section once, and no line that is empty", () => {
    const lines = page.trimEnd().split("\n");
    const known = /^\.(TH|SH|SS|TP|B|PP|RS|RE|nf|fi)( |$)/;
    for (const line of lines) {
      assert.notEqual(line, "");
      if (/^[.']/.test(line)) assert.match(line, known);
      assert.doesNotMatch(line, /\\(?![-e&(])/, line);
    }
    const sections = lines.filter((line) => line.startsWith(".SH ")).map((line) => line.slice(4));
    assert.equal(new Set(sections).size, sections.length);
    assert.deepEqual(sections.slice(0, 3), ["NAME", "SYNOPSIS", "OPTIONS"]);
  });

  it("is made by the build", async () => {
    const built = await readFile(join(import.meta.dirname, "../../dist/man/pipeline.1"), "utf8");
    assert.equal(built, page);
  });
});
