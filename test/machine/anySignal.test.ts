import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { anySignal } from "../../src/machine/anySignal.ts";

describe("a signal made of others", () => {
  it("is aborted with any of them, also where that one is gone and nobody listened", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    const first = anySignal([new AbortController().signal, AbortSignal.timeout(1)]);
    const second = anySignal([first, AbortSignal.timeout(20_000)]);
    await pause(20);
    collectGarbage();
    assert.deepEqual([first.aborted, second.aborted], [true, true]);
    assert.equal(second.reason.name, "TimeoutError");
  });
});
