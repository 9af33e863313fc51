import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { Interrupted } from "../../../src/cli/terminal/interrupts.ts";
import { readSecret } from "../../../src/cli/terminal/readSecret.ts";
import { PipelineError } from "../../../src/contract/errors.ts";

/** A terminal on which somebody types. */
function terminal() {
  const seen = { shown: "", raw: [] as boolean[] };
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => seen.raw.push(isRaw),
  });
  const prompt = { write: (text: string) => (seen.shown += text) };
  return {
    input,
    seen,
    read: (signal = new AbortController().signal) => readSecret({ input, prompt }, "Key: ", signal),
  };
}

async function typed(...chunks: readonly string[]): Promise<string> {
  const { input, read } = terminal();
  const reading = read();
  for (const chunk of chunks) input.write(chunk);
  return reading;
}

describe("a line that is typed without being shown", () => {
  for (const [what, sent, text] of [
    ["ends with Enter", "plr_abc\r", "plr_abc"],
    ["ends with a line feed, and what follows is dropped", "plr_abc\nrm -rf\n", "plr_abc"],
    ["is corrected by backspace", "plr_abx\u007fc\r", "plr_abc"],
    ["is corrected by the other backspace, also beyond its beginning", "x\b\b\bplr_abc\r", "plr_abc"],
    ["begins anew after Ctrl-U", "nonsense\u0015plr_abc\r", "plr_abc"],
    ["is pasted between marks", "\u001b[200~plr_abc\u001b[201~\r", "plr_abc"],
    ["has no keys of the cursor in it", "\u001b[Dplr_\u001bOAabc\u001b[1;5C\r", "plr_abc"],
  ] as const) {
    it(what, async () => {
      assert.equal(await typed(sent), text);
      assert.equal(await typed(...sent), text);
    });
  }

  it("is not shown, and the terminal is given back", async () => {
    const { input, seen, read } = terminal();
    const reading = read();
    input.write("plr_abc\u007fd\r");
    assert.equal(await reading, "plr_abd");
    assert.equal(seen.shown, "Key: \n");
    assert.deepEqual(seen.raw, [true, false]);
  });

  it("is interrupted by Ctrl-C, also within a sequence", async () => {
    await assert.rejects(typed("plr_\u0003"), Interrupted);
    await assert.rejects(typed("plr_\u001b[", "\u0003\u0003"), Interrupted);
  });

  it("is none after Ctrl-D, and at the input's end", async () => {
    await assert.rejects(typed("\u0004"), isUsage);
    const { input, read } = terminal();
    const reading = read();
    input.end();
    await assert.rejects(reading, isUsage);
  });

  it("is waited for until the signal aborts, and the terminal is given back", async () => {
    const { seen, read } = terminal();
    const ended = new AbortController();
    const reading = read(ended.signal);
    const reason = new Error("enough");
    ended.abort(reason);
    await assert.rejects(reading, reason);
    assert.deepEqual(seen.raw, [true, false]);
  });

  it("takes no more than it may hold", async () => {
    assert.equal(await typed("k".repeat(8192), "\r"), "k".repeat(8192));
    await assert.rejects(typed("k".repeat(8193), "\r"), isUsage);
  });

  it("comes to the same however the terminal cuts it", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "~", "[", "O", "\u007f", "\u0015", "2", ";", "\u001b[A"), {
          maxLength: 30,
        }),
        fc.array(fc.nat(30)),
        async (keys, cuts) => {
          const sent = `k${keys.join("")}k\r`;
          const bounds = [...new Set([0, ...cuts.filter((cut) => cut < sent.length)])].sort((a, b) => a - b);
          const chunks = bounds.map((start, index) => sent.slice(start, bounds[index + 1]));
          assert.equal(await typed(...chunks), await typed(sent));
        },
      ),
    ));
});

function isUsage(error: unknown): boolean {
  return error instanceof PipelineError && error.type === "usage";
}
