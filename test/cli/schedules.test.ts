import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { parse } from "yaml";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { programPipeline } from "../service/startedService.ts";
import { servedToolbox } from "./toolbox.ts";
import { words } from "./words.ts";

const page = await readFile(join(projectRoot, "docs/schedules.md"), "utf8");

function blocks(language: string): string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```/gms)].flatMap(([, name, text = ""]) =>
    name === language ? [text] : [],
  );
}

describe("docs/schedules.md", () => {
  it("has lines of a crontab that run in the environment of cron, where there is hardly any", async () => {
    await using tool = await servedToolbox();
    await tool.write("nightly", programPipeline(""));
    const bin = join(tool.project, "bin");
    await mkdir(bin);
    await symlink(tool.path, join(bin, "pipeline"));
    await symlink(process.execPath, join(bin, "node"));
    await symlink(tool.project, join(tool.project, "shop"));
    const lines = blocks("crontab").flatMap((text) => text.split("\n").filter((line) => /^\d/.test(line)));
    assert.equal(lines.length, 2);
    for (const line of lines) {
      const command = /^(?:\S+\s+){5}(.*)$/.exec(line)?.[1] ?? "";
      assert(!command.includes("%"));
      const { exitCode, all } = await execa("/bin/sh", ["-c", command], {
        cwd: "/",
        extendEnv: false,
        env: { HOME: tool.project, PATH: `${bin}:/usr/bin:/bin`, PIPELINE_DATA_DIR: tool.data },
        all: true,
        reject: false,
      });
      assert.deepEqual({ exitCode, all }, { exitCode: 0, all: "" });
    }
    assert.match(await readFile(join(tool.project, "nightly.xml"), "utf8"), /<testsuite /);
  });

  it("has YAML that is YAML, and calls the tool as it can be called", async () => {
    const files = blocks("yaml");
    assert.equal(files.length, 2);
    for (const text of files) assert.equal(typeof parse(text), "object");
    const calls = [...page.matchAll(/(?:^|[/ ])pipeline (run [^;\n]*)/gm)].flatMap(([, line = ""]) =>
      /^run \w+ --/.test(line) ? [line.replace(/`.*/, "").trim().split(" ")] : [],
    );
    assert(calls.length >= 5);
    for (const line of calls) {
      const { program, called } = words();
      await program.parseAsync(line, { from: "user" });
      assert.deepEqual(called, ["run"]);
    }
  });
});
