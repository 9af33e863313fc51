import assert from "node:assert/strict";
import { mock } from "node:test";
import { heedInterrupts } from "../../../src/cli/terminal/interrupts.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

describe("an interrupt", () => {
  afterEach(() => mock.restoreAll());

  it("counts once where who started the tool passes it on, and a person's second one ends at once", () => {
    const exit = mock.method(process, "exit", () => undefined);
    const clock = new FakeClock();
    using interrupts = heedInterrupts(undefined, clock);
    process.emit("SIGQUIT");
    assert.ok(interrupts.signal.aborted);
    clock.advance(99);
    process.emit("SIGQUIT");
    assert.equal(exit.mock.callCount(), 0);
    assert.ok(!interrupts.leaving.aborted);
    clock.advance(1);
    process.emit("SIGQUIT");
    assert.ok(interrupts.leaving.aborted);
    assert.deepEqual(exit.mock.calls[0]?.arguments, [130]);
  });
});
