import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectFilesIn } from "../../../src/extension/log/fileLinks.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the files of a run's project", () => {
  let folder: TemporaryFolder;
  let root: string;
  before(async () => {
    folder = await TemporaryFolder.make();
    root = join(folder.path, "shop");
    await mkdir(join(root, "src"), { recursive: true });
    await writeFile(join(root, "src/a.ts"), "");
    await writeFile(join(folder.path, "secret.txt"), "");
    await symlink(join(folder.path, "secret.txt"), join(root, "src/link.ts"));
    await symlink(join(root, "src/a.ts"), join(root, "src/inside.ts"));
  });
  after(() => folder[Symbol.asyncDispose]());

  const find = (named: string) => projectFilesIn(root, systemClock)(named);

  it("are those that are there, by a relative or an absolute path", async () => {
    assert.equal(await find("src/a.ts"), join(root, "src/a.ts"));
    assert.equal(await find("./src/../src/a.ts"), join(root, "src/a.ts"));
    assert.equal(await find(join(root, "src/a.ts")), join(root, "src/a.ts"));
    assert.equal(await find("src/inside.ts"), join(root, "src/inside.ts"));
    assert.equal(await find("src/b.ts"), undefined);
    assert.equal(await find("src"), undefined);
  });

  it("are found by their real paths, and opened as the window has the project, which may be by a link", async () => {
    const opened = join(folder.path, "opened");
    await symlink(root, opened, "junction");
    const files = projectFilesIn(opened, systemClock);
    for (const named of [join(root, "src/a.ts"), join(opened, "src/a.ts"), "src/a.ts"])
      assert.equal(await files(named), join(opened, "src/a.ts"));
    assert.equal(await files(join(folder.path, "secret.txt")), undefined);
  });

  it("are its pipeline files, also where their folder is a link to one elsewhere", async () => {
    const elsewhere = join(folder.path, "elsewhere");
    await mkdir(elsewhere);
    for (const name of ["a.yaml", "secret.txt"]) await writeFile(join(elsewhere, name), "");
    await symlink(elsewhere, join(root, "pipelines"), "junction");
    assert.equal(await find("pipelines/a.yaml"), join(root, "pipelines/a.yaml"));
    assert.equal(await find("pipelines/secret.txt"), undefined);
  });

  it("are none outside of the folder, by whatever way a log names them", async () => {
    for (const named of [
      "../secret.txt",
      join(folder.path, "secret.txt"),
      "src/link.ts",
      "//host/share/a.ts",
      "src/a.ts\0",
    ]) {
      assert.equal(await find(named), undefined, named);
    }
  });

  it("are looked for once in a while only, also the ones that aren't there", async () => {
    let now = 0;
    const files = projectFilesIn(root, { ...systemClock, monotonic: () => now });
    assert.equal(await files("src/later.ts"), undefined);
    await writeFile(join(root, "src/later.ts"), "");
    assert.equal(await files("src/later.ts"), undefined);
    now = 60_000;
    assert.equal(await files("src/later.ts"), join(root, "src/later.ts"));
  });
});
