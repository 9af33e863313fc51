import assert from "node:assert/strict";
import { mkdir, readdir, readlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileReader, RunLogs, runFolder } from "../../../src/service/runs/runLogs.ts";
import { itOn } from "../../itOn.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the reader of a log", () => {
  const folder = temporaryFolder();

  itOn("linux", "keeps no file open when it is left while it opens it", async () => {
    const file = join(folder.path, "log.ndjson");
    await writeFile(file, "a line\n");
    const left = fileReader(file);
    const reading = left.next(0);
    await left[Symbol.asyncDispose]();
    assert.equal(await reading, undefined);
    assert.equal(await left.next(0), undefined);
    assert.equal((await openFiles()).includes(file), false);
    // The list does hold what is open.
    await using reader = fileReader(file);
    assert.deepEqual(await reader.next(0), { first: 1, lines: ["a line"] });
    assert.equal((await openFiles()).includes(file), true);
  });

  it("gives of a log that was cut or zeroed what is whole before that, wherever it is", async () => {
    const logs = new RunLogs({ folder: folder.path, log: () => {}, now: Date.now });
    const { log: file } = runFolder(folder.path, "run_1");
    await mkdir(dirname(file), { recursive: true });
    const lines = [1, 2, 3].map((sequence) =>
      JSON.stringify({
        sequence,
        at: "2026-03-04T12:00:00.000Z",
        "step-index": 0,
        stream: "stdout",
        text: "ä",
      }),
    );
    const whole = Buffer.from(`${lines.join("\n")}\n`);
    const ends = [...whole.entries()].flatMap(([at, byte]) => (byte === 10 ? at : []));
    for (let length = 0; length < whole.length; length++) {
      const left = ends.filter((end) => end < length).length;
      for (const damaged of [whole.subarray(0, length), Buffer.from(whole).fill(0, length)]) {
        await writeFile(file, damaged);
        await using reader = await logs.reader("run_1");
        assert.deepEqual((await reader.next(0))?.lines ?? [], lines.slice(0, left));
        assert.deepEqual(
          (await logs.tail("run_1")).entries.map(({ sequence }) => sequence),
          [1, 2, 3].slice(0, left),
        );
      }
    }
  });
});

async function openFiles(): Promise<string[]> {
  const open = await readdir("/proc/self/fd");
  return Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
}
