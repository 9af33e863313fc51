import assert from "node:assert/strict";
import { readdir, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FileReader } from "../../../src/service/runs/runLogs.ts";
import { itOn } from "../../itOn.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the reader of a log", () => {
  const folder = temporaryFolder();

  itOn("linux", "keeps no file open when it is left while it opens it", async () => {
    const file = join(folder.path, "log.ndjson");
    await writeFile(file, "a line\n");
    const left = new FileReader(file);
    const reading = left.next(0);
    await left[Symbol.asyncDispose]();
    assert.equal(await reading, undefined);
    assert.equal(await left.next(0), undefined);
    assert.equal((await openFiles()).includes(file), false);
    // The list does hold what is open.
    await using reader = new FileReader(file);
    assert.deepEqual(await reader.next(0), { first: 1, lines: ["a line"] });
    assert.equal((await openFiles()).includes(file), true);
  });
});

async function openFiles(): Promise<string[]> {
  const open = await readdir("/proc/self/fd");
  return Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
}
