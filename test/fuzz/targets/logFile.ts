import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LogReader } from "../../../src/service/runLog/logReader.ts";
import { mendLog } from "../../../src/service/runLog/mendLog.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { must } from "../engine/broken.ts";
import type { Checker, Target } from "../engine/target.ts";

const entry = (sequence: number, text: string) =>
  `{"sequence":${sequence},"at":"2026-03-03T10:00:00Z","step-index":0,"stream":"stdout","text":${JSON.stringify(text)}}\n`;

export const logFileTarget: Target = {
  name: "log-file",
  property:
    "whatever is left of a log's file, mending keeps a beginning of it that ends with a whole entry of the due number, and twice is as once",
  covers: ["src/service/runLog"],
  seeds: [
    entry(1, "one\n") + entry(2, "two"),
    entry(1, "a") + "\0".repeat(40),
    `${entry(1, "a")}{"sequence":2,"at"`,
    "",
  ],
  words: ["\n", "\0\0\0\0", '{"sequence":2', "}\n"],
  longest: 4 * 1024,
  isBytes: true,
  batch: 20,
  open: openFolder,
};

async function openFolder(): Promise<Checker> {
  const folder = await TemporaryFolder.make();
  const file = join(folder.path, "log");
  return {
    async check(input) {
      const bytes = Buffer.from(input, "latin1");
      await writeFile(file, bytes);
      const { extent, last } = await mendLog(file);
      const mended = await readFile(file);
      must(
        bytes.subarray(0, mended.length).equals(mended),
        "what is kept is the beginning of what was there",
        () => mended.toString("latin1"),
      );
      must(extent.bytes === mended.length, "the extent is that of the file", () => ({
        extent,
        length: mended.length,
      }));
      must((last?.sequence ?? 0) === extent.entries, "the last entry has the due number", () => ({
        extent,
        last,
      }));
      must(extent.bytes === 0 || mended.at(-1) === 10, "what is kept ends with a line's end", () => extent);
      const again = await mendLog(file);
      must(
        again.extent.bytes === extent.bytes && again.extent.entries === extent.entries,
        "mending twice is as mending once",
        () => ({ extent, again }),
      );
      await using reader = new LogReader(file);
      const piece = await reader.next(0, extent.bytes);
      must(
        (piece?.lines.length ?? 0) === extent.entries,
        "as many lines are read as there are entries",
        () => ({ piece, extent }),
      );
      await rm(file);
    },
    close: () => folder[Symbol.asyncDispose](),
  };
}
