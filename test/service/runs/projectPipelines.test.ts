import assert from "node:assert/strict";
import { mkdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ProjectPipelines } from "../../../src/service/runs/projectPipelines.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const text = (line: string) => `resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: ${line} }]\n`;

describe("the pipeline files of a project", () => {
  it("are what they are now, also when a file was changed to one as long and as old", async () => {
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines"));
    const file = join(folder.path, "pipelines", "a.yaml");
    const projects = [{ name: "p", root: folder.path }];
    const files = new ProjectPipelines();
    const run = async () => {
      const { pipeline } = await files.find(projects, "a");
      const [step] = pipeline.steps;
      return step?.type === "cli" ? step.run : undefined;
    };
    await writeFile(file, text("one"));
    const { atime, mtime } = await stat(file);
    assert.equal(await run(), "one");
    assert.equal(await run(), "one");
    await writeFile(file, text("two"));
    await utimes(file, atime, mtime);
    assert.equal(await run(), "two");
  });

  it("are read to the last, however many there are", async () => {
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines"));
    const names = Array.from({ length: 600 }, (_, number) => `p${number}`);
    for (const name of names) await writeFile(join(folder.path, "pipelines", `${name}.yaml`), text(name));
    const files = new ProjectPipelines();
    for (let round = 0; round < 2; round++) {
      const listed = await files.list([{ name: "p", root: folder.path }]);
      assert.deepEqual(listed.map(({ name }) => name).sort(), [...names].sort());
    }
  });
});
