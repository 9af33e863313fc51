import assert from "node:assert/strict";
import { Outbox } from "../../src/runner/outbox.ts";
import { FakeClock } from "../clock/fakeClock.ts";

describe("a runner's outbox", () => {
  const started = (index: number) => ({ kind: "step", index, status: "running" }) as const;

  it("sends the first messages at once, and of many what comes together, in their order", () => {
    const clock = new FakeClock();
    const pieces: number[][] = [];
    const outbox = new Outbox((text) => {
      pieces.push(
        text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line).index),
      );
    }, clock);
    for (let index = 0; index < 12; index += 1) outbox.send([started(index)]);
    assert.deepEqual(pieces, [[0], [1], [2], [3], [4], [5], [6], [7]]);
    clock.advance(24);
    assert.equal(pieces.length, 8);
    clock.advance(1);
    assert.deepEqual(pieces[8], [8, 9, 10, 11]);
    outbox.send([started(12)]);
    outbox.flush();
    assert.deepEqual(pieces[9], [12]);
    assert.equal(clock.alarms, 0);
    clock.advance(1000);
    outbox.send([started(13)]);
    assert.deepEqual(pieces[10], [13], "at once again after a pause");
  });

  it("sends ahead what must not wait", () => {
    const pieces: string[] = [];
    const outbox = new Outbox(
      (text) => pieces.push(JSON.parse(text.split("\n")[0] ?? "").kind),
      new FakeClock(),
    );
    for (let index = 0; index < 9; index += 1) outbox.send([started(index)]);
    outbox.sendAhead({ kind: "spawned", pid: 7 });
    assert.equal(pieces.at(-1), "spawned");
    outbox.flush();
    assert.equal(pieces.at(-1), "step");
  });
});
