import assert from "node:assert/strict";
import fc from "fast-check";
import { placeOnAxis, timelineOf } from "../../src/text/timeline.ts";

const began = Date.parse("2026-03-03T10:00:00Z");
const at = (seconds: number) => new Date(began + seconds * 1000).toISOString();
const step = (name: string, from?: number, to?: number, status = "succeeded") => ({
  name,
  type: "cli",
  status,
  ...(from === undefined ? {} : { startedAt: at(from) }),
  ...(to === undefined ? {} : { stoppedAt: at(to) }),
});

describe("a run's timeline", () => {
  it("goes from the start request to the end: the wait first, then the steps", () => {
    const timeline = timelineOf({
      status: "failed",
      askedAt: at(-10),
      createdAt: at(0),
      stoppedAt: at(30),
      steps: [step("build", 1, 10), step("test", 10, 29, "failed"), step("ship")],
    });
    assert.deepEqual(timeline, {
      from: began - 10_000,
      to: began + 30_000,
      bars: [
        { from: began - 10_000, to: began },
        { step: { name: "build", status: "succeeded" }, from: began + 1_000, to: began + 10_000 },
        { step: { name: "test", status: "failed" }, from: began + 10_000, to: began + 29_000 },
      ],
    });
    assert.deepEqual(
      timeline?.bars.map((bar) => placeOnAxis(bar, timeline, 0)),
      [
        { start: 0, length: 25 },
        { start: 27.5, length: 22.5 },
        { start: 50, length: 47.5 },
      ],
    );
  });

  it("goes on to now while the run is active, and so does its running step", () => {
    const timeline = timelineOf({
      status: "running",
      createdAt: at(0),
      steps: [step("build", 0, 5), step("test", 5)],
    });
    assert.equal(timeline?.to, undefined);
    const places = (seconds: number) =>
      timeline?.bars.map((bar) => placeOnAxis(bar, timeline, began + seconds * 1000));
    assert.deepEqual(places(10), [
      { start: 0, length: 50 },
      { start: 50, length: 50 },
    ]);
    assert.deepEqual(places(20), [
      { start: 0, length: 25 },
      { start: 25, length: 75 },
    ]);
  });

  it("has no wait where there was none, or where the service doesn't say", () => {
    const steps = [step("build", 1, 2)];
    for (const askedAt of [at(0), undefined]) {
      const timeline = timelineOf({
        status: "succeeded",
        askedAt,
        createdAt: at(0),
        stoppedAt: at(2),
        steps,
      });
      assert.deepEqual([timeline?.from, timeline?.bars.length], [began, 1]);
    }
  });

  it("is none without a bar, and starts with the first where the service says nothing else", () => {
    assert.equal(timelineOf({ status: "running", createdAt: at(0), steps: [step("first")] }), undefined);
    assert.equal(timelineOf({ status: "lost", createdAt: at(0), stoppedAt: at(1) }), undefined);
    assert.deepEqual(timelineOf({ status: "succeeded", steps: [step("only", 3, 4)] }), {
      from: began + 3_000,
      to: began + 4_000,
      bars: [{ step: { name: "only", status: "succeeded" }, from: began + 3_000, to: began + 4_000 }],
    });
  });

  it("ends a step with its run where the service doesn't say when it stopped", () => {
    const steps = [step("cut off", 1, undefined, "lost")];
    const timeline = timelineOf({ status: "lost", createdAt: at(0), stoppedAt: at(5), steps });
    assert.equal(timeline?.bars[0].to, began + 5_000);
  });

  it("keeps every bar on its axis, wide enough to be seen, whatever clocks say", () => {
    const second = fc.integer({ min: -100, max: 100 });
    const times = fc.record({ asked: second, created: second, stopped: second, now: second });
    const spans = fc.array(fc.tuple(second, fc.option(second, { nil: undefined })), { minLength: 1 });
    fc.assert(
      fc.property(times, spans, fc.boolean(), ({ asked, created, stopped, now }, steps, isOver) => {
        const timeline = timelineOf({
          status: isOver ? "succeeded" : "running",
          askedAt: at(asked),
          createdAt: at(created),
          ...(isOver ? { stoppedAt: at(stopped) } : {}),
          steps: steps.map(([from, to]) => step("any", from, to)),
        });
        assert.ok(timeline !== undefined);
        for (const bar of timeline.bars) {
          const { start, length } = placeOnAxis(bar, timeline, began + now * 1000);
          assert.ok(start >= 0 && length >= 0.5 && start + length <= 100.01, `${start} ${length}`);
        }
      }),
    );
  });
});
