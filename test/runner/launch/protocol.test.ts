import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import fc from "fast-check";
import { readLines } from "../../../src/runner/launch/protocol.ts";

describe("the lines between the service and a runner", () => {
  it("bring every text as it was, however the pipe cuts them", async () => {
    const telling = fc.constantFrom("\u2028", "\u2029", "\u0085", "\v", "\r", "\n", "\ud800");
    const text = fc.array(fc.oneof(telling, fc.string({ unit: "binary" }))).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(fc.array(text), fc.array(fc.nat({ max: 40 })), async (texts, cuts) => {
        const said = texts.map((value) => `${JSON.stringify(value)}\n`).join("");
        assert.deepEqual((await linesOf(Buffer.from(said), cuts)).map(parsed), texts);
      }),
      { numRuns: 500 },
    );
  });

  it("are told only once they are whole: what a killed runner had begun to say is nothing", async () => {
    assert.deepEqual(await linesOf(Buffer.from('"one"\n"tw'), []), ['"one"']);
  });
});

function parsed(line: string): unknown {
  return JSON.parse(line);
}

async function linesOf(bytes: Buffer, cuts: readonly number[]): Promise<string[]> {
  const lines: string[] = [];
  const input = Readable.from(pieces(bytes, cuts), { objectMode: false });
  readLines(input, (line) => lines.push(line));
  await finished(input);
  return lines;
}

function* pieces(bytes: Buffer, cuts: readonly number[]): Iterable<Buffer> {
  let at = 0;
  for (const length of cuts) {
    if (length > 0 && at < bytes.length) yield bytes.subarray(at, at + length);
    at += length;
  }
  if (at < bytes.length) yield bytes.subarray(at);
}
