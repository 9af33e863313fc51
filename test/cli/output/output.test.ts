import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { Output } from "../../../src/cli/output/output.ts";
import { Screen } from "../screen.ts";

/** An output whose standard error is a terminal of so many columns; standard output is a file. */
function scene(env: Record<string, string> = {}, size = { columns: 20, rows: 6 }) {
  let raw = "";
  let file = "";
  const err = { write: (text: string) => (raw += text), isTTY: true, ...size };
  const out = { write: (text: string) => (file += text), isTTY: false };
  const flags = { json: false, quiet: false, color: true };
  const output = new Output({ out, err, env: { TERM: "xterm", ...env }, flags });
  return { output, err, raw: () => raw, file: () => file, screen: () => screenOf(raw, size.columns) };
}

/** A terminal turns each line feed into the beginning of the next line. */
function screenOf(raw: string, columns: number): Screen {
  return new Screen(columns).write(raw.replaceAll("\n", "\r\n"));
}

describe("what has no end", () => {
  it("waits for a slow reader of standard output, until it has read or nobody waits any more", async () => {
    const out = new PassThrough({ highWaterMark: 10 });
    const err = { write: () => true };
    const output = new Output({ out, err, env: {}, flags: { json: false, quiet: false, color: true } });
    const stop = new AbortController();
    output.line("short");
    await output.drained(stop.signal);
    output.line("longer than what fits");
    let isDrained = false;
    const drained = output.drained(stop.signal).then(() => {
      isDrained = true;
    });
    await new Promise(setImmediate);
    assert(!isDrained);
    out.resume();
    await drained;
    out.pause();
    output.line("longer than what fits");
    const given = assert.rejects(output.drained(stop.signal), /given up/);
    stop.abort(new Error("given up"));
    await given;
  });
});

describe("what goes to both streams", () => {
  it("waits for standard error too where another waits for standard output already", async () => {
    const [out, err] = [new PassThrough({ highWaterMark: 10 }), new PassThrough({ highWaterMark: 10 })];
    const output = new Output({ out, err, env: {}, flags: { json: false, quiet: false, color: true } });
    const { signal } = new AbortController();
    output.line("longer than what fits");
    const first = output.drained(signal);
    output.note("longer than what fits");
    let isDrained = false;
    const second = output.drained(signal).then(() => {
      isDrained = true;
    });
    out.resume();
    await first;
    await new Promise(setImmediate);
    assert(!isDrained);
    err.resume();
    await second;
  });
});

describe("lines that are drawn over", () => {
  it("stand below those that stay, each in the place of the one before", () => {
    const { output, screen } = scene();
    output.passing("one");
    output.passing("first", "second");
    output.note("stays");
    output.passing("third", "fourth");
    assert.equal(screen().text, "stays\nthird\nfourth");
    output.passing("fifth");
    assert.equal(screen().text, "stays\nfifth");
    assert(!screen().isCursorShown);
    output.release();
    assert.equal(screen().text, "stays\n");
    assert(screen().isCursorShown);
  });

  it("are cut before they wrap, also where characters are wide", () => {
    for (const [line, shown] of [
      ["x".repeat(40), `${"x".repeat(18)}…`],
      ["日本語".repeat(10), "日本語日本語日本語…"],
      [`⠧ ${"x".repeat(40)}`, `⠧ ${"x".repeat(16)}…`],
      ["x".repeat(19), "x".repeat(19)],
    ] as const) {
      const { output, screen } = scene();
      output.passing(line);
      assert.equal(screen().text, shown);
      assert(!screen().hasWrapped);
    }
  });

  it("end their colours where they are cut", () => {
    const { output, raw } = scene();
    output.passing(`x${output.err.style.bad("x".repeat(40))}`);
    assert(raw().includes("x\u001b[0m…"));
  });

  it("are no more than the screen has room for", () => {
    const { output, screen } = scene();
    output.passing(...Array.from({ length: 30 }, (_, index) => `line ${index}`));
    assert.deepEqual(screen().text.split("\n"), ["line 0", "line 1", "line 2", "line 3", "  and 26 more"]);
  });

  it("are taken away whole when the terminal was made narrower", () => {
    const { output, err, raw } = scene();
    output.note("stays");
    output.passing("x".repeat(19), "y".repeat(19));
    err.columns = 10;
    const before = raw().length;
    output.passing("");
    assert(raw().slice(before).startsWith("\u001b[3A\r"), "each of the two has become two lines");
  });

  it("stay where a line of standard output goes to a file", () => {
    const { output, raw, file } = scene();
    output.passing("turning");
    const before = raw();
    output.line("a result");
    assert.equal(raw(), before);
    assert.equal(file(), "a result\n");
  });

  it("are plain ASCII where nothing else shows", () => {
    const { output, screen } = scene({ LC_ALL: "C" });
    output.passing("x".repeat(40));
    assert.equal(screen().text, `${"x".repeat(16)}...`);
  });
});
