import assert from "node:assert/strict";
import { appendFile, open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "../../../src/contract/log.ts";
import { readLogLine } from "../../../src/service/runs/logStore.ts";
import { emptyLog, LogWriter, mendLog, type NewEntry } from "../../../src/service/runs/logWriter.ts";
import { RunLogs } from "../../../src/service/runs/runLogs.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the writer of a log", () => {
  const folder = temporaryFolder();
  const file = () => join(folder.path, "run_1", "log.ndjson");

  it("writes what it is told in its order, numbered from 1", async () => {
    const writer = new LogWriter(file(), emptyLog, quiet);
    for (let count = 1; count <= 1000; count++) writer.append(entry(`${count}`));
    await writer.complete();
    assert.deepEqual(
      (await entries(file())).map(({ sequence, text }) => [sequence, text]),
      Array.from({ length: 1000 }, (_, index) => [index + 1, `${index + 1}`]),
    );
  });

  it("makes no file for a run that says nothing", async () => {
    await new LogWriter(file(), emptyLog, quiet).complete();
    await assert.rejects(readFile(file()), { code: "ENOENT" });
  });

  it("says in the log what a full disk has cost, as soon as there is room again", async () => {
    const disk = faultyDisk();
    const writer = new LogWriter(file(), emptyLog, { ...quiet, onError: disk.onError, open: disk.open });
    await told(writer, "one");
    disk.room = 30;
    await told(writer, "two");
    await told(writer, "three");
    // Nobody may read what is half written.
    assert.equal(writer.extent.entries, 1);
    assert.equal(disk.troubles, 1);
    disk.room = Number.POSITIVE_INFINITY;
    await told(writer, "four");
    disk.room = 0;
    await told(writer, "five");
    disk.room = Number.POSITIVE_INFINITY;
    await writer.complete();
    assert.deepEqual(
      (await entries(file())).map(({ sequence, stream, text }) => `${sequence} ${stream} ${text}`),
      [
        "1 stdout one",
        "2 note The log is incomplete: 2 entries are missing here, since the disk didn't take them (ENOSPC).\n",
        "3 stdout four",
        "4 note The log is incomplete: 1 entry is missing here, since the disk didn't take them (ENOSPC).\n",
      ],
    );
    assert.equal(disk.troubles, 2);
  });

  it("writes what it is told in the moments around the end of a write", async () => {
    for (let hops = 0; hops < 8; hops++) {
      const tellLater = async () => {
        for (let hop = 0; hop < hops; hop++) await undefined;
        writer.append(entry("two"));
      };
      let later: Promise<void> | undefined;
      const onGrown = () => {
        later ??= tellLater();
      };
      const path = `${file()}-${hops}`;
      const writer = new LogWriter(path, emptyLog, { ...quiet, onGrown });
      await told(writer, "one");
      await later;
      await writer.complete();
      assert.deepEqual(
        (await entries(path)).map(({ text }) => text),
        ["one", "two"],
        `${hops} microtasks after`,
      );
    }
  });

  it("ends although the disk stays full", async () => {
    const disk = faultyDisk();
    const writer = new LogWriter(file(), emptyLog, { ...quiet, onError: disk.onError, open: disk.open });
    disk.room = 0;
    await told(writer, "one");
    await writer.complete();
    assert.equal(disk.troubles, 1);
    assert.deepEqual(await entries(file()), []);
  });
});

describe("the log of a run whose service died", () => {
  const folder = temporaryFolder();
  const file = () => join(folder.path, "log.ndjson");
  const line = (sequence: number) =>
    `${JSON.stringify({ sequence, at: "2026-03-04T12:00:00.000Z", "step-index": 2, stream: "stdout", text: "ä" })}\n`;

  it("is cut where its last whole entry ends, wherever the write was torn", async () => {
    const whole = line(1) + line(2);
    const third = Buffer.from(line(3));
    for (let length = 0; length < third.length; length += 1) {
      await writeFile(file(), whole);
      await appendFile(file(), third.subarray(0, length));
      const { extent, last } = await mendLog(file());
      assert.deepEqual(extent, { bytes: Buffer.byteLength(whole), entries: 2 });
      assert.equal(last?.sequence, 2);
      assert.equal(await readFile(file(), "utf8"), whole);
    }
  });

  it("is cut also before lines that hold something else than their entry", async () => {
    for (const damage of [`${"\0".repeat(40)}\n`, "{}\n", line(9), "\n", "\n\n\n"]) {
      await writeFile(file(), line(1) + damage);
      assert.deepEqual((await mendLog(file())).extent.entries, 1, JSON.stringify(damage));
    }
    await writeFile(file(), "nonsense\n");
    assert.deepEqual(await mendLog(file()), { extent: emptyLog, last: undefined });
    assert.equal(await readFile(file(), "utf8"), "");
  });

  it("is empty when there is none", async () => {
    assert.deepEqual(await mendLog(file()), { extent: emptyLog, last: undefined });
  });
});

/** At most `limit` entries of a log after the sequence number `after`, and whether there are more. */
async function pageOf(logs: RunLogs, after: number, limit: number) {
  await using reader = await logs.reader("run_1");
  const found: LogEntry[] = [];
  while (found.length <= limit) {
    const chunk = await reader.next(after);
    if (chunk === undefined) break;
    found.push(...chunk.lines.flatMap(readLogLine));
  }
  return { entries: found.slice(0, limit), hasMore: found.length > limit };
}

describe("the logs of the runs", () => {
  const folder = temporaryFolder();

  it("are read page by page, also while they are written", async () => {
    const logs = new RunLogs({ folder: folder.path, log: () => {}, now: Date.now });
    const log = logs.begin("run_1");
    assert.deepEqual(await pageOf(logs, 0, 10), { entries: [], hasMore: false });
    const texts: string[] = [];
    // Longer than a piece that is read at once, and of letters of several bytes.
    for (let count = 0; count < 50; count++) texts.push(`${count}${"ä".repeat(count * 3000)}`);
    for (const text of texts) log.append(entry(text));
    await log.complete();
    const read: string[] = [];
    for (let after = 0, hasMore = true; hasMore; ) {
      const page = await pageOf(logs, after, 7);
      assert.ok(page.entries.length <= 7);
      read.push(...page.entries.map(({ text }) => text));
      after = page.entries.at(-1)?.sequence ?? 0;
      hasMore = page.hasMore;
    }
    assert.deepEqual(read, texts);
    assert.ok(logs.isOpen("run_1"));
    log.end();
    assert.ok(!logs.isOpen("run_1"));
    assert.deepEqual((await pageOf(logs, 48, 7)).entries.length, 2);
    await truncate(join(folder.path, "runs", "run_1", "log.ndjson"), 50);
    assert.deepEqual(await pageOf(logs, 0, 10), { entries: [], hasMore: false });
  });
});

const quiet = { onGrown: () => {}, onError: (error: unknown) => assert.fail(String(error)) };

function entry(text: string): NewEntry {
  return { at: "2026-03-04T12:00:00.000Z", stepIndex: 0, stream: "stdout", text };
}

/** Tells the writer something, and waits until it was tried to be written. */
async function told(writer: LogWriter, text: string): Promise<void> {
  writer.append(entry(text));
  await writer.settled();
}

async function entries(path: string) {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { sequence: number; stream: string; text: string });
}

/** A disk that takes only so many more bytes. */
function faultyDisk() {
  const disk = {
    room: Number.POSITIVE_INFINITY,
    troubles: 0,
    onError: () => {
      disk.troubles += 1;
    },
    open: async (...how: Parameters<typeof open>) => {
      const handle = await open(...how);
      const write = handle.write.bind(handle) as (...all: unknown[]) => Promise<{ bytesWritten: number }>;
      handle.write = (async (bytes: Uint8Array, offset: number, length: number, position: number) => {
        const most = Math.min(length, disk.room);
        if (most === 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
        disk.room -= most;
        return write(bytes, offset, most, position);
      }) as typeof handle.write;
      return handle;
    },
  };
  return disk;
}
