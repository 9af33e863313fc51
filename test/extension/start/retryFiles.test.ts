import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PendingRetry } from "../../../src/extension/start/pendingRetry.ts";
import { isAnyPutOff, putOffFolder } from "../../../src/extension/start/putOffFolder.ts";
import { RetryFiles } from "../../../src/extension/start/retryFiles.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

function retry(id: string, dueAt = 1): PendingRetry {
  return { id, pipeline: "nightly", resetAt: 0, dueAt, origin: "http://127.0.0.1:1", orgId: "org_1" };
}

describe("what is kept of the starts that are put off", () => {
  it("is the same for all windows of a workspace at once, and no other's", async () => {
    await using folder = await TemporaryFolder.make();
    const [one, other] = [new RetryFiles(folder.path, "shop"), new RetryFiles(folder.path, "shop")];
    await one.put(retry("b", 2));
    await other.put(retry("a", 1));
    assert.deepEqual(await one.list(), [retry("a", 1), retry("b", 2)]);
    assert.deepEqual(await other.list(), await one.list());
    assert.deepEqual(await new RetryFiles(folder.path, "mill").list(), []);
    await other.remove("b");
    await other.remove("b");
    assert.deepEqual(await one.list(), [retry("a", 1)]);
  });

  it("tells the other windows of a change, and none after they are closed", async () => {
    await using folder = await TemporaryFolder.make();
    const [one, other] = [new RetryFiles(folder.path, "shop"), new RetryFiles(folder.path, "shop")];
    const { promise, resolve } = Promise.withResolvers<void>();
    const watching = other.onDidChange(resolve);
    // The watch begins a moment later.
    const again = setInterval(() => void one.put(retry("a")), 50);
    await promise;
    clearInterval(again);
    watching.dispose();
    assert.deepEqual(await other.list(), [retry("a")]);
  });

  it("makes a quiet window look, as long as there is any", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    assert.equal(await isAnyPutOff(folder.path), false);
    await files.put(retry("a"));
    assert.equal(await isAnyPutOff(folder.path), true);
    await files.remove("a");
    assert.equal(await isAnyPutOff(folder.path), false);
  });

  it("is read by nobody else, and written whole or not at all", async () => {
    await using folder = await TemporaryFolder.make();
    const files = new RetryFiles(folder.path, "shop");
    await files.put(retry("../../out"));
    const [name = "", ...others] = await readdir(putOffFolder(folder.path));
    assert.deepEqual(others, []);
    const file = join(putOffFolder(folder.path), name);
    if (process.platform !== "win32") assert.equal((await stat(file)).mode & 0o777, 0o600);
    const text = await readFile(file, "utf8");
    for (const damaged of ["", "{}", "null", '{"id":1}', text.slice(0, 20), "\0".repeat(50)]) {
      await writeFile(file, damaged);
      assert.deepEqual(await files.list(), []);
    }
    await files.put(retry("b"));
    assert.deepEqual(await files.list(), [retry("b")]);
  });

  it("is said not to be kept where it can't be, with what to do", async () => {
    await using folder = await TemporaryFolder.make();
    await writeFile(join(folder.path, "put-off"), "");
    const files = new RetryFiles(folder.path, "shop");
    await assert.rejects(files.put(retry("a")), {
      type: "internal",
      message: /^The start can't be kept until 00:00 UTC: /,
      next: /run it after 00:00 UTC/,
    });
    assert.deepEqual(await files.list(), []);
    await files.remove("a");
  });
});
