import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { type RefusedStart, refusalMessage, refusalReport, runCommand } from "../../src/contract/refusal.ts";
import { holds } from "../contract/holds.ts";

const freeDay = (pipeline: string): RefusedStart => ({
  pipeline,
  refusal: { scope: "free-day", secondsToReset: 4321 },
  waitedSeconds: 0,
});
const org = (pipeline: string): RefusedStart => ({
  pipeline,
  refusal: { scope: "org" },
  waitedSeconds: 120,
});

describe("a command to paste for a run", () => {
  it("does no more than it says, whatever the id is", () => {
    assert.equal(runCommand("show", "run_1"), "pipeline runs show run_1");
    assert.equal(runCommand("cancel", "--mine"), "pipeline runs cancel -- --mine");
    assert.equal(runCommand("log", "$(id) it's"), `pipeline runs log '$(id) it'\\''s'`);
    assert.equal(runCommand("log", ""), "pipeline runs log ''");
  });
});

describe("the refusal object", () => {
  it("of the day is the given one", () => {
    assert.deepEqual(JSON.parse(JSON.stringify(refusalReport(freeDay("nightly")))), {
      ok: false,
      command: "run",
      error: {
        type: "too-many-runs",
        message:
          "Scope free-day: all of today's runs are used. The count starts again at 00:00 UTC, in 4321 s.",
      },
      hints: [{ command: "pipeline run nightly", doc: "retry after 4321 s" }],
      warnings: [],
    });
  });

  it("after the wait names the scope org, and hints to cancel first", () => {
    const report = refusalReport(org("nightly"));
    assert.equal(
      report.error.message,
      "Scope org: another run holds the org's slot, and it did not come free in 120 s.",
    );
    assert.deepEqual(
      report.hints.map(({ command }) => command),
      ["pipeline runs cancel --mine", "pipeline run nightly"],
    );
  });

  it("of a step whose own run holds the slot names that run, and no cancel, which would end the step", () => {
    const report = refusalReport({ ...org("nightly"), waitedSeconds: 0, ownRunId: "run_1" });
    assert.equal(
      report.error.message,
      "Scope org: this step's own run, run_1, holds the org's slot, and keeps it while the step waits.",
    );
    assert.deepEqual(report.hints, [{ command: "pipeline run nightly", doc: "retry when the slot is free" }]);
  });

  it("has the given fields in the given order, and no others", () => {
    for (const report of [refusalReport(org("a")), refusalReport(freeDay("a"))]) {
      assert.deepEqual(Object.keys(report), ["ok", "command", "error", "hints", "warnings"]);
      assert.deepEqual(Object.keys(report.error), ["type", "message"]);
      for (const hint of report.hints) assert.deepEqual(Object.keys(hint), ["command", "doc"]);
    }
  });

  it("hints at a retry with the options that make it the same wish", () => {
    const options = ["--project", "Acme & Co"];
    assert.deepEqual(
      refusalReport({ ...freeDay("a"), options }, { ...freeDay("-b"), options }).hints.map(
        ({ command }) => command,
      ),
      ["pipeline run a --project 'Acme & Co'", "pipeline run --project 'Acme & Co' -- -b"],
    );
  });

  it("of several pipelines hints at a retry of each", () => {
    const report = refusalReport(freeDay("a"), freeDay("b"));
    assert.deepEqual(
      report.hints.map(({ command }) => command),
      ["pipeline run a", "pipeline run b"],
    );
  });

  it("of a used-up day and a taken slot is of the day, which no cancel helps", () => {
    for (const starts of [[freeDay("a"), org("b")] as const, [org("b"), freeDay("a")] as const]) {
      const report = refusalReport(...starts);
      assert.match(report.error.message, /^Scope free-day: .*4321 s/);
      assert.deepEqual(
        report.hints,
        starts.map(({ pipeline }) => ({ command: `pipeline run ${pipeline}`, doc: "retry after 4321 s" })),
      );
    }
  });

  it("of several waits tells the longest", () => {
    const { error } = refusalReport({ ...org("a"), waitedSeconds: 0 }, org("b"));
    assert.match(error.message, /in 120 s\.$/);
  });

  it("says nothing of a wait that there was not", () => {
    assert.equal(
      refusalMessage({ refusal: { scope: "org" }, waitedSeconds: 0 }),
      "Scope org: another run holds the org's slot.",
    );
  });

  it("holds for any pipeline and any seconds", () => {
    const starts = fc.record({
      pipeline: fc.string({ minLength: 1 }),
      refusal: fc.oneof(
        fc.constant({ scope: "org" as const }),
        fc.record({
          scope: fc.constant("free-day" as const),
          secondsToReset: fc.integer({ min: 1, max: 86_400 }),
        }),
      ),
      waitedSeconds: fc.nat(120),
    });
    holds(
      fc.property(starts, fc.array(starts, { maxLength: 3 }), (first, others) => {
        const report = refusalReport(first, ...others);
        assert.equal(report.ok, false);
        assert.equal(report.command, "run");
        assert.equal(report.error.type, "too-many-runs");
        assert.deepEqual(report.warnings, []);
        const all = [first, ...others];
        const toReset = all.flatMap(({ refusal }) =>
          refusal.scope === "free-day" ? [refusal.secondsToReset] : [],
        );
        const isUsedUp = toReset.length > 0;
        assert.ok(report.error.message.includes(isUsedUp ? "free-day" : "org"));
        assert.equal(report.hints.length - all.length, isUsedUp ? 0 : 1);
        if (isUsedUp) {
          const seconds = Math.max(...toReset);
          assert.ok(report.error.message.includes(`in ${seconds} s`));
          for (const { doc } of report.hints) assert.equal(doc, `retry after ${seconds} s`);
        }
        assert.deepEqual(JSON.parse(JSON.stringify(report)), report);
      }),
    );
  });

  const whereThereIsSh = process.platform === "win32" ? () => undefined : it;
  whereThereIsSh("hints at commands that a shell reads back as the same pipeline", () => {
    const names = [
      "nightly",
      "two words",
      "it's",
      "$(reboot)",
      "a;b",
      "-x",
      "--json",
      "=ls",
      "~",
      "*",
      'q"uote',
      "ünï",
      "a\nb",
      "%PATH%",
    ];
    for (const name of names) {
      const [hint] = refusalReport(freeDay(name)).hints;
      const words = (hint?.command ?? "").replace(/^pipeline run (-- )?/, "");
      assert.equal(execFileSync("sh", ["-c", `printf %s ${words}`], { encoding: "utf8" }), name);
      if (name.startsWith("-")) assert.match(hint?.command ?? "", /^pipeline run -- /);
    }
  });
});
