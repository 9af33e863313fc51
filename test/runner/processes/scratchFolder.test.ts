import assert from "node:assert/strict";
import { chmod, chown, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeScratch, removeScratch, scratchFolder } from "../../../src/runner/processes/scratchFolder.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("a run's folder for temporary files", () => {
  let runId: string;
  let folder: string;
  let runs = 0;
  beforeEach(() => {
    runId = `scratch-${process.pid}-${runs++}`;
    folder = scratchFolder(runId);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("is made for this user alone, is found again by a second step, and goes with the run", async () => {
    await makeScratch(folder);
    await makeScratch(folder);
    const { mode } = await stat(folder);
    if (process.platform !== "win32") assert.equal(mode & 0o777, 0o700);
    await removeScratch(runId);
    await assert.rejects(stat(folder));
  });

  itOn(
    "posix",
    "is not used when others may look into it, who know its name from the list of processes",
    async () => {
      await mkdir(folder, { mode: 0o700 });
      await chmod(folder, 0o755);
      await assert.rejects(makeScratch(folder), /isn't this user's alone/);
    },
  );

  itOn("posix", "is neither used nor removed where a link leads elsewhere", async () => {
    await using elsewhere = await TemporaryFolder.make();
    await writeFile(join(elsewhere.path, "precious"), "");
    await symlink(elsewhere.path, folder);
    await assert.rejects(makeScratch(folder), /isn't this user's alone/);
    await removeScratch(runId);
    assert.deepEqual(await readdir(elsewhere.path), ["precious"]);
  });

  // Only root can make one that is.
  if (process.getuid?.() === 0) {
    it("is neither used nor removed when it is another user's", async () => {
      await mkdir(folder, { mode: 0o700 });
      await chown(folder, 65_534, 65_534);
      await assert.rejects(makeScratch(folder), /isn't this user's alone/);
      await removeScratch(runId);
      assert.ok((await stat(folder)).isDirectory());
    });
  }
});
