import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { mock } from "node:test";
import { lockFolder } from "../../../src/service/lifecycle/folderLock.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the lock of a data folder", () => {
  afterEach(() => mock.restoreAll());

  itOn("linux", "is not had by anybody while the process that had a deleted one lives", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "service.lock");
    const first = lockFolder(folder.path);
    assert.ok(first);
    await rm(file);
    // Also not by the one after who has been refused, which finds what that one leaves.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      assert.equal(lockFolder(folder.path), undefined);
      assert.equal(existsSync(file), false);
    }
    first[Symbol.dispose]();
    const next = lockFolder(folder.path);
    assert.ok(next);
    next[Symbol.dispose]();
  });

  for (const [what, message, errcode] of [
    ["is out of locks (ENOLCK)", "database is locked", 5],
    ["has no locks (EOPNOTSUPP)", "disk I/O error", 3850],
  ] as const) {
    it(`says so where the file system ${what}, and no other service is looked for`, async () => {
      await using folder = await TemporaryFolder.make();
      mock.method(DatabaseSync.prototype, "exec", () => {
        throw Object.assign(new Error(message), { errcode });
      });
      assert.throws(() => lockFolder(folder.path), {
        message: /^The file system of .*service\.lock has no locks/,
        next: /PIPELINE_DATA_DIR/,
      });
      assert.deepEqual(readdirSync(folder.path), ["service.lock"]);
    });
  }
});
