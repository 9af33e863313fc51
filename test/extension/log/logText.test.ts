import assert from "node:assert/strict";
import fc from "fast-check";
import type { LogEntry } from "../../../src/contract/log.ts";
import type { Run } from "../../../src/contract/run.ts";
import { LogText } from "../../../src/extension/log/logText.ts";
import type { TextLine } from "../../../src/extension/log/textLine.ts";
import { stepToResumeAt } from "../../../src/pipeline/stepToResumeAt.ts";

const at = "2026-03-03T10:00:00Z";
const esc = "\u001b";
const apiKey = "plk_5ecre7-0f-the-test";

const running: Run = {
  runId: "run_1",
  pipeline: "lamps",
  project: "shop",
  status: "running",
  actor: "key_1",
  runner: "here",
  createdAt: at,
  timeLimitSeconds: 30,
  steps: [
    { name: "open", type: "cli", status: "succeeded", startedAt: at, stoppedAt: "2026-03-03T10:00:02Z" },
    { name: "count", type: "sql", status: "running", startedAt: at },
    { name: "close", type: "cli", status: "waiting" },
  ],
};

const failed: Run = {
  ...running,
  status: "failed",
  stoppedAt: "2026-03-03T10:01:05Z",
  reason: "count: two lamps, expected three",
  steps: [
    ...(running.steps ?? []).slice(0, 1),
    {
      name: "count",
      type: "sql",
      status: "failed",
      startedAt: at,
      stoppedAt: "2026-03-03T10:00:00.400Z",
      message: "two lamps, expected three",
    },
  ],
};

function textOf(run: Run, options: { most?: number } = {}) {
  const timeText = (instant: string) => `at ${instant}`;
  const text = new LogText(run, { apiKeys: new Set([apiKey]), timeText, ...options });
  text.setResumeAt(stepToResumeAt(run, undefined)?.index);
  return text;
}

let sequence = 0;
function entry(text: string, stepIndex = 0, stream = "stdout"): LogEntry {
  sequence += 1;
  return { sequence, at, stepIndex, stream, text };
}

function linesOf(text: LogText): TextLine[] {
  const snapshot = text.snapshot();
  const lines = [...snapshot.lines(0, snapshot.lineCount)].map(([, line]) => line);
  assert.equal(Buffer.from(snapshot.bytes).toString(), lines.map((line) => `${line.text}\n`).join(""));
  assert.equal(snapshot.lineCount, lines.length + 1);
  return lines;
}

const shown = (text: LogText) => linesOf(text).map((line) => line.text);

describe("the document of a run's log", () => {
  it("names the agent that started the run, in one line whatever it calls itself", () => {
    const text = textOf(running);
    text.setRun({ ...running, agent: "some\nagent" }, "key_1");
    assert.equal(shown(text)[1], "Started at 2026-03-03T10:00:00Z by you, through the agent some agent");
    text.setRun({ ...running, agent: "some-agent" }, "key_2");
    assert.equal(shown(text)[1], "Started at 2026-03-03T10:00:00Z by key_1, through the agent some-agent");
  });

  it("begins with the run's inputs and outputs, and tells how often a step was tried", () => {
    const text = textOf(running);
    const steps = (running.steps ?? []).map((step) => ({ ...step, attempts: 2, cleanup: true as const }));
    text.setRun({ ...running, steps, inputs: { lamps: 2 }, outputs: { order: "7" } }, "key_1");
    const lines = shown(text);
    assert.deepEqual(lines.slice(2, 6), [
      "Run run_1, project shop",
      "Inputs: lamps=2",
      "Outputs: order=7",
      "",
    ]);
    assert.equal(lines[6], "✓ open · cli · succeeded · cleanup · 2 attempts · 2 s");
  });

  it("says which run it is, and has the log by steps, each below a line with its status and its time", () => {
    const text = textOf(running);
    text.setRun(running, "key_1");
    text.add(entry("one\ntwo\n"));
    text.add(entry("three\n", 1));
    assert.deepEqual(shown(text), [
      "● lamps running",
      "Started at 2026-03-03T10:00:00Z by you",
      "Run run_1, project shop",
      "",
      "✓ open · cli · succeeded · 2 s",
      "one",
      "two",
      "",
      "● count · sql · running",
      "three",
      "",
    ]);
  });

  it("begins with the step that failed: why, and the last that it wrote", () => {
    const text = textOf(failed);
    text.add(entry("one\n"));
    text.add(entry(Array.from({ length: 40 }, (_, index) => `row ${index}\n`).join(""), 1));
    const lines = shown(text);
    assert.equal(lines[0], "✗ lamps failed · 1 min 5 s");
    assert.match(lines[1] ?? "", /by key_1$/);
    assert.deepEqual(lines.slice(4, 9), [
      "✗ Failed step: count · sql · failed · 400 ms",
      "  two lamps, expected three",
      "  Run From Failed Step · a new run, one of today's",
      "  Its last 12 lines:",
      "    row 28",
    ]);
    assert.equal(lines[19], "    row 39");
    assert.equal(lines[21], "✓ open · cli · succeeded · 2 s");
    assert.deepEqual(
      text
        .snapshot()
        .parts.map(({ kind, name, firstLine, lastLine }) => [
          kind,
          name,
          firstLine,
          lastLine - firstLine + 1,
        ]),
      [
        ["failed", "Failed step: count", 4, 16],
        ["step", "open", 21, 2],
        ["step", "count", 24, 41],
      ],
    );
  });

  it("tells the output of the only step once, below why it failed", () => {
    const [, count] = failed.steps ?? [];
    assert(count !== undefined);
    const message = "exited with 3, expected 0:\nrow 1";
    const text = textOf({ ...failed, reason: `count: ${message}`, steps: [{ ...count, message }] });
    text.add(entry("$ ./count\n", 0, "note"));
    text.add(entry("row 1\n"));
    text.add(entry("exited with 3 after 400 ms\n", 0, "note"));
    assert.deepEqual(shown(text).slice(4), [
      "✗ Failed step: count · sql · failed · 400 ms",
      "  exited with 3, expected 0",
      "",
      "✗ count · sql · failed · 400 ms",
      "$ ./count",
      "row 1",
      "exited with 3 after 400 ms",
      "",
    ]);
  });

  it("offers no run from a step that neither its name nor its number identifies", () => {
    const [open, count] = failed.steps ?? [];
    assert(open !== undefined && count !== undefined);
    const offers = (...names: string[]) => {
      const before = names.map((name) => ({ ...open, name }));
      return shown(textOf({ ...failed, steps: [...before, count] })).some((line) => /Run From/.test(line));
    };
    assert.equal(offers("open", "count"), true, "it is the third");
    assert.equal(offers("3", "count"), false);
  });

  it("has no colon behind which nothing is left", () => {
    const message = (text: string) => {
      const [open, count] = failed.steps ?? [];
      assert(open !== undefined && count !== undefined);
      const log = textOf({ ...failed, steps: [open, { ...count, message: text }] });
      log.add(entry("row 1\nrow 2\n", 1));
      return shown(log).slice(5, 8);
    };
    assert.deepEqual(message("exited with 3, expected 0:\nrow 1\nrow 2"), [
      "  exited with 3, expected 0",
      "  Run From Failed Step · a new run, one of today's",
      "  Its last 2 lines:",
    ]);
    assert.deepEqual(message("expected 0:\nother").slice(0, 2), ["  expected 0:", "  other"]);
  });

  it("names the running step when a run's time was over, and none for a run that was cancelled", () => {
    const endedBy = (status: string, reason: string): Run => ({
      ...running,
      status,
      reason,
      stoppedAt: at,
      steps: [{ name: "open", type: "cli", status, startedAt: at, stoppedAt: at }],
    });
    const late = shown(textOf(endedBy("timed-out", "it took longer than 30 s")));
    assert(late.includes("it took longer than 30 s"));
    assert(late.some((line) => line.startsWith("✗ Failed step: open")));
    const cancelled = shown(textOf(endedBy("cancelled", "cancelled by key_2")));
    assert(cancelled.includes("cancelled by key_2"));
    assert(!cancelled.some((line) => line.includes("Failed step")));
    const own = endedBy("cancelled", "cancelled by key_1");
    const seen = textOf(own);
    seen.setRun(own, "key_1");
    assert(shown(seen).includes("cancelled by you"));
  });

  it("shows what has no line end yet, and puts what comes late where its step is", () => {
    const text = textOf(running);
    text.add(entry("Name: "));
    text.add(entry("next\n", 1));
    text.add(entry("half", 1));
    text.add(entry("from the background\n", 0));
    assert.deepEqual(shown(text).slice(4), [
      "✓ open · cli · succeeded · 2 s",
      "Name: ",
      "from the background",
      "",
      "● count · sql · running",
      "next",
      "half",
      "",
    ]);
    text.add(entry(" and whole\n", 1));
    assert.equal(shown(text).at(-2), "half and whole");
  });

  it("keeps the newest of a log that is too long, and says so with the way to all of it", () => {
    const text = textOf(running, { most: 1_000 });
    for (let index = 0; index < 300; index++) text.add(entry(`line ${String(index).padStart(4, "0")}\n`));
    const lines = shown(text);
    assert(text.size <= 1_000);
    assert(lines.includes("line 0299"));
    const first = lines.find((line) => /^line \d+$/.test(line)) ?? "";
    const leftOut = Number(first.slice(5));
    const sentence = `${leftOut} earlier lines are not shown. Full log: pipeline runs log run_1`;
    assert.equal(lines[3], sentence);
    assert.equal(lines[6], sentence);
  });

  it("gives up what is too much in one go now and then, not with each line", () => {
    const text = textOf(running, { most: 1_000 });
    const sizes = new Set<number>();
    for (let index = 0; index < 300; index++) {
      text.add(entry("nine char\n"));
      sizes.add(text.snapshot().parts[0]?.lastLine ?? 0);
    }
    const begun = shown(text)[3];
    text.add(entry("nine char\n"));
    assert.equal(shown(text)[3], begun);
    assert(sizes.size > 20);
  });

  it("lists what the steps kept, as links that tell kind and size", () => {
    const kept = (name: string, mediaType: string, bytes: number) => ({
      name,
      file: "0-1",
      stepIndex: 0,
      mediaType,
      bytes,
      at,
    });
    const artifacts = [
      kept("shop.png", "image/png", 34 * 1024),
      kept("a\u202eb.json", "application/json", 12),
    ];
    const lines = linesOf(textOf({ ...failed, artifacts }));
    const first = lines.findIndex(({ text }) => text === "Kept files");
    assert.equal(lines[first + 1]?.text, "  shop.png  picture · 34 KiB · open");
    assert.deepEqual(lines[first + 1]?.links, [
      { kind: "kept", start: 2, end: 10, path: "/run_1/0-1/shop.png" },
    ]);
    assert.equal(lines[first + 2]?.text, "  a b.json  application/json · 12 bytes · open");
  });

  it("gives colours as styles of the text, which go on in the stream's next line", () => {
    const text = textOf(running);
    text.add(entry(`plain ${esc}[31mred\nstill red${esc}[0m plain\n`));
    text.add(entry(`${esc}[1mwarning${esc}[0m\n`, 0, "stderr"));
    const lines = linesOf(text).slice(5, 8);
    assert.deepEqual(
      lines.map((line) => line.text),
      ["plain red", "still red plain", "warning"],
    );
    assert.deepEqual(
      lines.map(({ styles }) => styles.map(({ start, end, style }) => [start, end, style.foreground])),
      [[[6, 9, 1]], [[0, 9, 1]], [[0, 7, undefined]]],
    );
    assert.equal(lines[2]?.stream, "stderr");
  });

  it("never shows an API key, also where what stood in its middle is taken out, or the text comes in pieces", () => {
    for (const between of ["", "\u0000", "\u200e", `${esc}[31m`, `${esc}]0;title\u0007`]) {
      const text = textOf(running);
      const [begin, rest] = [apiKey.slice(0, 8), apiKey.slice(8)];
      for (const piece of [`a ${begin}`, between, `${rest} b\n`]) text.add(entry(piece));
      assert.equal(shown(text)[5], "a (the API key) b", JSON.stringify(between));
    }
  });

  it("lets through nothing that drives a screen, whatever the service and the programs say", () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom(
        esc,
        `${esc}[31m`,
        `${esc}]8;;x`,
        "\u009b",
        "\u202e",
        "\u2028",
        "\r",
        "\n",
        "\r\n",
        "\t",
      ),
    );
    const words = fc.array(hostile, { maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(words, words, fc.array(words, { maxLength: 5 }), (name, message, texts) => {
        const step = { name, type: name, status: "failed", startedAt: at, stoppedAt: at, message };
        const artifact = { name, file: name, stepIndex: 0, mediaType: name, bytes: 3, at };
        const run = {
          ...failed,
          pipeline: name,
          actor: name,
          project: name,
          steps: [step],
          artifacts: [artifact],
        };
        const text = textOf(run);
        for (const piece of texts) text.add(entry(piece));
        text.end();
        for (const { text: line, styles, links } of linesOf(text)) {
          assert.doesNotMatch(line, /(?!\t)[\p{Cc}\u2028-\u202e\u2066-\u206f]/u);
          for (const { start, end } of [...styles, ...links]) assert(start < end && end <= line.length);
        }
      }),
    );
  });

  it("says a notice at its end until it is taken back", () => {
    const text = textOf(running);
    text.setNotice("away");
    assert.equal(shown(text).at(-1), "away");
    text.setNotice(undefined);
    assert(!shown(text).includes("away"));
  });

  it("is the same whatever pieces the log comes in, and the last look at it has all", () => {
    const output = fc.array(fc.constantFrom("a", "bc\n", "\n", "\r", `${esc}[32m`, "x:1:2 "), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(output, fc.array(fc.nat(60), { maxLength: 6 }), (pieces, cuts) => {
        const all = pieces.join("");
        const whole = textOf(running);
        whole.add(entry(all));
        const cut = textOf(running);
        let from = 0;
        for (const to of [...cuts].sort((one, other) => one - other)) {
          cut.add(entry(all.slice(from, Math.max(from, to))));
          cut.snapshot();
          from = Math.max(from, to);
        }
        cut.add(entry(all.slice(from)));
        whole.end();
        cut.end();
        assert.deepEqual(linesOf(cut), linesOf(whole));
      }),
    );
  });
});
