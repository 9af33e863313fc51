import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { orgSchema } from "../../../src/contract/org.ts";
import { runSchema } from "../../../src/contract/run.ts";
import { fromWire, toWire } from "../../../src/contract/wire.ts";
import { parseConnection } from "../../../src/machine/connectionFile.ts";
import { mendLog } from "../../../src/service/runs/logWriter.ts";
import { fileReader } from "../../../src/service/runs/runLogs.ts";
import { holdsNear } from "../../near.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the file of a connection", () => {
  it("a file of a connection is read whole or not at all, names only this machine, and what is read is the same written and read again", () =>
    holdsNear(
      {
        like: [
          '{"url":"http://127.0.0.1:4321","pid":12,"token":"prk_1","instance":"i1","version":"0.4.0"}',
          '{"org-id":"o","org-name":"n","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":3},"actor":"k"}',
          '{"run-id":"run_1","pipeline":"a","project":"b","status":"failed","actor":"k","runner":"r","created-at":"2026-03-03T10:00:00Z","time-limit-seconds":30}',
        ],
        words: ["http://127.0.0.1:", ":65536", "@", "-a", "-A", "\\u0000"],
        broke: [
          '{"org-id":"","org-name":"","tier":"","limits":{"parallel-runs":1,"runs-per-day":0},"usage":{"runs-today":-0},"actor":"","":""}',
          '{"url":"http://127.0.0.1:0","pid":2,"token":"a","instance":"a","":""}',
        ],
        longest: 8 * 1024,
      },
      checkFile,
    ));
});

describe("what is left of a log's file", () => {
  it("whatever is left of a log's file, mending keeps a beginning of it that ends with a whole entry of the due number, and twice is as once", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "log");
    await holdsNear(
      {
        like: [
          entry(1, "one\n") + entry(2, "two"),
          entry(1, "a") + "\0".repeat(40),
          `${entry(1, "a")}{"sequence":2,"at"`,
          "",
        ],
        words: ["\n", "\0\0\0\0", '{"sequence":2', "}\n"],
        longest: 4 * 1024,
      },
      async (input) => {
        const bytes = Buffer.from(input, "latin1");
        await writeFile(file, bytes);
        const { extent, last } = await mendLog(file);
        const mended = await readFile(file);
        assert(
          bytes.subarray(0, mended.length).equals(mended),
          "what is kept is the beginning of what was there",
        );
        assert(extent.bytes === mended.length, "the extent is that of the file");
        assert((last?.sequence ?? 0) === extent.entries, "the last entry has the due number");
        assert(extent.bytes === 0 || mended.at(-1) === 10, "what is kept ends with a line's end");
        const again = await mendLog(file);
        assert(
          again.extent.bytes === extent.bytes && again.extent.entries === extent.entries,
          "mending twice is as mending once",
        );
        await using reader = fileReader(file, () => extent.bytes);
        const piece = await reader.next(0);
        assert((piece?.lines.length ?? 0) === extent.entries, "as many lines are read as there are entries");
        await rm(file);
      },
    );
  });
});

function checkFile(text: string): void {
  const connection = parseConnection(text);
  if (connection !== undefined) {
    const { hostname, port, username, pathname } = new URL(connection.url);
    assert(
      hostname === "127.0.0.1" && username === "" && pathname === "/",
      "a connection leads to this machine only",
    );
    assert(
      Number.isSafeInteger(connection.pid) && connection.pid > 0 && port !== "0",
      "a connection's process and port can be one",
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  for (const read of [fromWire(orgSchema, value), fromWire(runSchema, value)]) {
    if (read.kind === "invalid") {
      assert(read.problem !== "" && read.problem.length < 4000, "what is wrong is one sentence");
      continue;
    }
    const again = fromWire<unknown>(
      "tier" in read.value ? orgSchema : runSchema,
      JSON.parse(JSON.stringify(toWire(read.value))),
    );
    assert(
      // JSON knows a -0, and JavaScript writes it as 0.
      again.kind === "valid" && JSON.stringify(again.value) === JSON.stringify(read.value),
    );
  }
}

const entry = (sequence: number, text: string) =>
  `{"sequence":${sequence},"at":"2026-03-03T10:00:00Z","step-index":0,"stream":"stdout","text":${JSON.stringify(text)}}\n`;
