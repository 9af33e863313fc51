import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../src/machine/dataFolder.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

describe("making a folder", () => {
  it("makes those above it too, for this user's eyes only, also several at once", async () => {
    await using there = await TemporaryFolder.make();
    const folder = join(there.path, "a", "b", "c");
    await Promise.all(Array.from({ length: 5 }, () => makeFolder(folder)));
    for (const each of [folder, join(there.path, "a")]) {
      const { mode } = await stat(each);
      if (process.platform !== "win32") assert.equal(mode & 0o777, 0o700);
    }
  });

  itOn("linux", "ends where nothing can be made", async () => {
    await assert.rejects(makeFolder("/proc/nothing/here"), { code: "ENOENT" });
  });
});
