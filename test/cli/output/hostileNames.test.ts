import assert from "node:assert/strict";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { itOn } from "../../itOn.ts";
import { programPipeline } from "../../service/startedService.ts";
import { type ToolEnd, toolbox } from "../toolbox.ts";

/** A clipboard, a title, a colour, C1's own escape, a line of its own, and a reading from right to left. */
const hostile = "a\u001b]52;c;cm0=\u0007\u001b[31mb\u009b2Jc\nforged\u202ed";
const driving = /(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function assertHarmless({ stdout, stderr }: ToolEnd): void {
  for (const text of [stdout, stderr]) {
    assert.doesNotMatch(text, driving, JSON.stringify(text));
    assert.doesNotMatch(text, /^forged/m, JSON.stringify(text));
  }
}

describe("names of files and folders", () => {
  itOn("posix", "can't drive the terminal of who validates or lists them", async () => {
    await using tool = await toolbox();
    const folder = join(tool.project, hostile);
    await mkdir(join(folder, "pipelines"), { recursive: true });
    const same = `name: same\n${programPipeline("")}`;
    for (const name of ["one", hostile]) await writeFile(join(folder, "pipelines", `${name}.yaml`), same);
    await writeFile(join(folder, "pipelines", `broken ${hostile}.yaml`), `steps: "${"x\\e[2J\\u202e"}"\n`);
    const calls = [
      ["validate"],
      ["validate", "nosuch"],
      ["validate", hostile],
      ["validate", `broken ${hostile} `],
      ["validate", `${hostile}.yaml`],
      ["validate", join(folder, "pipelines")],
      ["pipelines"],
      ["pipelines", "--project", hostile],
      ["pipelines", `--project=${hostile}`],
      ["pipelines", "--all"],
    ];
    for (const args of calls) {
      for (const json of [[], ["--json"]]) {
        const { exitCode, stdout, stderr } = await tool.call([...args, ...json], {}, folder);
        assertHarmless({ exitCode, stdout, stderr });
        assert.notEqual(`${stdout}${stderr}`, "", args.join(" "));
      }
    }
    const { stdout } = await tool.spawn(["validate", "--json"], {}, folder);
    const paths = JSON.parse(stdout).files.map(({ path }: { path: string }) => path);
    assert(paths.includes(`pipelines/${hostile}.yaml`), "a program is told the names as they are");
  });

  itOn("posix", "can't drive the terminal of who runs what isn't there", async () => {
    await using tool = await toolbox();
    const folder = join(tool.project, hostile);
    await tool.write(`broken ${hostile}`, "steps: 3\n");
    await mkdir(folder);
    await rename(join(tool.project, "pipelines"), join(folder, "pipelines"));
    const unreadable = "b\u202eroken";
    for (const name of ["nosuch", hostile, unreadable, `broken ${hostile}`]) {
      for (const json of [[], ["--json"]]) {
        const { exitCode, stdout, stderr } = await tool.call(["run", name, ...json], {}, folder);
        assert.notEqual(exitCode, 0);
        assertHarmless({ exitCode, stdout, stderr });
      }
    }
  });
});
