import assert from "node:assert/strict";
import { mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FileClaims } from "../../../src/extension/window/claims.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("what only one of a user's windows does", () => {
  it("is done by the first window that claims it, and by no other, however many ask at once", async () => {
    await using folder = await TemporaryFolder.make();
    const windows = Array.from({ length: 8 }, () => new FileClaims(folder.path));
    const answers = await Promise.all(windows.map((window) => window.claim("ended/run_1")));
    assert.equal(answers.filter((first) => first).length, 1);
    assert.equal(await new FileClaims(folder.path).claim("ended/run_1"), false);
  });

  it("is claimed by its name: another matter is another claim", async () => {
    await using folder = await TemporaryFolder.make();
    const claims = new FileClaims(folder.path);
    assert.equal(await claims.claim("ended/run_1"), true);
    assert.equal(await claims.claim("ended/run_2"), true);
    assert.equal(await claims.claim("../../ended/run_1\u0000"), true);
    assert.equal((await readdir(join(folder.path, "claims"))).length, 3);
  });

  it("leaves a file for this user only, in which nothing stands", async () => {
    await using folder = await TemporaryFolder.make();
    await new FileClaims(folder.path).claim("ended/run_1");
    const [name = ""] = await readdir(join(folder.path, "claims"));
    const kept = await stat(join(folder.path, "claims", name));
    assert.equal(kept.size, 0);
    if (process.platform !== "win32") assert.equal(kept.mode & 0o077, 0);
  });

  it("is forgotten after some days, so that the claims don't grow for ever", async () => {
    await using folder = await TemporaryFolder.make();
    await new FileClaims(folder.path).claim("ended/run_1");
    const [name = ""] = await readdir(join(folder.path, "claims"));
    const longAgo = Date.now() / 1000 - 30 * 86_400;
    await utimes(join(folder.path, "claims", name), longAgo, longAgo);
    assert.equal(await new FileClaims(folder.path).claim("ended/run_2"), true);
    assert.deepEqual((await readdir(join(folder.path, "claims"))).includes(name), false);
  });

  it("is claimed once also where something old can't be taken away", async () => {
    await using folder = await TemporaryFolder.make();
    const claims = join(folder.path, "claims");
    await mkdir(join(claims, "old"), { recursive: true });
    const longAgo = Date.now() / 1000 - 30 * 86_400;
    await utimes(join(claims, "old"), longAgo, longAgo);
    const window = new FileClaims(folder.path);
    assert.equal(await window.claim("ended/run_1"), true);
    assert.equal(await window.claim("ended/run_1"), false);
  });

  it("is done rather than left where no claim can be kept", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "no-folder");
    await writeFile(file, "");
    const claims = new FileClaims(file);
    assert.equal(await claims.claim("ended/run_1"), true);
  });
});
