import assert from "node:assert/strict";
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mock } from "node:test";
import { type PendingRetry, RetryFiles } from "../../../src/extension/start/retryFiles.ts";
import { deferredStartsFolder, hasDeferredStarts } from "../../../src/extension/window/storedState.ts";
import { Told } from "../../client/told.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

function retry(id: string, dueAt = 1): PendingRetry {
  return { id, pipeline: "nightly", resetAt: 0, dueAt, origin: "http://127.0.0.1:1", orgId: "org_1" };
}

/** All that is kept: nothing of it can't be read. */
async function listOf(files: RetryFiles): Promise<readonly PendingRetry[]> {
  const { retries, isWhole } = await files.list();
  assert(isWhole);
  return retries;
}

describe("what is kept of the starts that are deferred", () => {
  it("is the same for all windows of a workspace at once, and no other's", async () => {
    await using folder = await TemporaryFolder.make();
    const [one, other] = [new RetryFiles(folder.path, "shop"), new RetryFiles(folder.path, "shop")];
    await one.put(retry("b", 2));
    await other.put(retry("a", 1));
    assert.deepEqual(await listOf(one), [retry("a", 1), retry("b", 2)]);
    assert.deepEqual(await listOf(other), await listOf(one));
    assert.deepEqual(await listOf(new RetryFiles(folder.path, "mill")), []);
    assert.equal(await other.take("b"), "taken");
    assert.equal(await one.take("b"), "gone", "one window has it");
    assert.deepEqual(await listOf(one), [retry("a", 1)]);
  });

  it("has its inputs, where it has some, and is not read with others than there can be", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    const inputs = { region: "eu", lamps: 2, visit: false };
    await files.put({ ...retry("a"), inputs });
    assert.deepEqual(await listOf(files), [{ ...retry("a"), inputs }]);
    const [name = ""] = await readdir(deferredStartsFolder(folder.path));
    const file = join(deferredStartsFolder(folder.path), name);
    await writeFile(file, JSON.stringify(retry("a")));
    assert.deepEqual(await listOf(files), [retry("a")], "as an older version wrote it");
    await writeFile(file, JSON.stringify({ ...retry("a"), inputs: { lamps: [] } }));
    assert.deepEqual(await listOf(files), []);
  });

  it("tells the other windows of a change, and none after they are closed", async () => {
    await using folder = await TemporaryFolder.make();
    const [one, other] = [new RetryFiles(folder.path, "shop"), new RetryFiles(folder.path, "shop")];
    const told = new Told<undefined>();
    const watching = other.onDidChange(() => told.tell(undefined));
    // When it has begun to look.
    await told.atLeast(1);
    await one.put(retry("a"));
    await told.atLeast(2);
    watching.dispose();
    assert.deepEqual(await listOf(other), [retry("a")]);
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
      assert.deepEqual(await listOf(files), []);
    }
    await files.put(retry("b"));
    assert.deepEqual(await listOf(files), [retry("b")]);
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
    assert.deepEqual(await files.list(), { retries: [], isWhole: false });
    assert.equal(await files.take("a"), "unknown");
  });

  it("is not taken for all where something can't be read", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    await files.put(retry("a"));
    const [name = ""] = await readdir(deferredStartsFolder(folder.path));
    await files.put(retry("b"));
    // Can't be read, by root neither.
    const file = join(deferredStartsFolder(folder.path), name);
    await rm(file);
    await mkdir(file);
    assert.deepEqual(await files.list(), { retries: [retry("b")], isWhole: false });
  });

  it("is looked at once more when the window has begun to hear of others", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    const { promise, resolve } = Promise.withResolvers<void>();
    const watching = files.onDidChange(resolve);
    await promise;
    watching.dispose();
  });
});
