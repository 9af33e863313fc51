import assert from "node:assert/strict";
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mock } from "node:test";
import { type PendingRetry, RetryFiles } from "../../../src/extension/start/resetRetries.ts";
import { deferredStartsFolder, hasDeferredStarts } from "../../../src/extension/window/storedState.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

function retry(id: string, dueAt = 1): PendingRetry {
  return { id, pipeline: "nightly", resetAt: 0, dueAt, origin: "http://127.0.0.1:1", orgId: "org_1" };
}

describe("what is kept of the starts that are deferred", () => {
  it("is the same for all windows of a workspace at once, and no other's", async () => {
    await using folder = await TemporaryFolder.make();
    const [one, other] = [new RetryFiles(folder.path, "shop"), new RetryFiles(folder.path, "shop")];
    await one.put(retry("b", 2));
    await other.put(retry("a", 1));
    assert.deepEqual(await one.list(), [retry("a", 1), retry("b", 2)]);
    assert.deepEqual(await other.list(), await one.list());
    assert.deepEqual(await new RetryFiles(folder.path, "mill").list(), []);
    assert.equal(await other.take("b"), true);
    assert.equal(await one.take("b"), false, "one window has it");
    assert.deepEqual(await one.list(), [retry("a", 1)]);
  });

  it("has its inputs, where it has some, and is not read with others than there can be", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    const inputs = { region: "eu", lamps: 2, visit: false };
    await files.put({ ...retry("a"), inputs });
    assert.deepEqual(await files.list(), [{ ...retry("a"), inputs }]);
    const [name = ""] = await readdir(deferredStartsFolder(folder.path));
    const file = join(deferredStartsFolder(folder.path), name);
    await writeFile(file, JSON.stringify(retry("a")));
    assert.deepEqual(await files.list(), [retry("a")], "as an older version wrote it");
    await writeFile(file, JSON.stringify({ ...retry("a"), inputs: { lamps: [] } }));
    assert.deepEqual(await files.list(), []);
  });

  it("makes a quiet window look, as long as there is any", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    assert.equal(await hasDeferredStarts(folder.path), false);
    await files.put(retry("a"));
    assert.equal(await hasDeferredStarts(folder.path), true);
    await files.take("a");
    assert.equal(await hasDeferredStarts(folder.path), false);
  });

  it("is read by nobody else, and written whole or not at all", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    await files.put(retry("../../out"));
    const [name = "", ...others] = await readdir(deferredStartsFolder(folder.path));
    assert.deepEqual(others, []);
    const file = join(deferredStartsFolder(folder.path), name);
    if (process.platform !== "win32") assert.equal((await stat(file)).mode & 0o777, 0o600);
    const text = await readFile(file, "utf8");
    for (const damaged of ["", "{}", "null", '{"id":1}', text.slice(0, 20), "\0".repeat(50)]) {
      await writeFile(file, damaged);
      assert.deepEqual(await files.list(), []);
    }
    await files.put(retry("b"));
    assert.deepEqual(await files.list(), [retry("b")]);
  });

  it("is on the disk before the file has its name, so that no power cut leaves half of it", async () => {
    await using folder = await TemporaryFolder.make();
    const handle = await open(join(folder.path, "any"), "w");
    await handle.close();
    const named: string[][] = [];
    const synced = mock.method(Object.getPrototypeOf(handle), "sync", async () => {
      const names = await readdir(deferredStartsFolder(folder.path));
      named.push(names.filter((name) => name.endsWith(".json")));
    });
    await new RetryFiles(folder.path, "shop").put(retry("a")).finally(() => synced.mock.restore());
    assert.deepEqual(named, [[]]);
  });

  it("is said not to be kept where it can't be, with what to do", async () => {
    await using folder = await TemporaryFolder.make();
    await writeFile(join(folder.path, "put-off"), "");
    const files = new RetryFiles(folder.path, "shop");
    await assert.rejects(files.put(retry("a")), {
      type: "internal",
      message: /^The start can't be scheduled for 00:00 UTC: /,
      next: /run it after 00:00 UTC/,
    });
    assert.deepEqual(await files.list(), []);
    await assert.rejects(files.take("a"), { code: "ENOTDIR" });
  });

  it("is read also where something of it can't be", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    await files.put(retry("a"));
    const [name = ""] = await readdir(deferredStartsFolder(folder.path));
    await files.put(retry("b"));
    // Can't be read, by root neither.
    const file = join(deferredStartsFolder(folder.path), name);
    await rm(file);
    await mkdir(file);
    assert.deepEqual(await files.list(), [retry("b")]);
  });
});
