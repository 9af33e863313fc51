import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { Shutdown } from "../../../src/extension/window/shutdown.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

describe("the end of a window", () => {
  it("awaits what is still ending, also what began while it waited", async () => {
    const shutdown = new Shutdown();
    const clock = new FakeClock();
    const start = Promise.withResolvers<void>();
    const cancel = Promise.withResolvers<void>();
    const over: string[] = [];
    const starting = shutdown.join(start.promise).catch(() => shutdown.join(cancel.promise));
    const ended = shutdown.finish(clock).then(() => {
      over.push("the window");
    });
    start.reject(new Error("given up"));
    for (let turns = 0; turns < 20; turns++) await turn();
    assert.equal(over.length, 0);
    over.push("the cancel");
    cancel.resolve();
    await Promise.all([starting, ended]);
    assert.deepEqual(over, ["the cancel", "the window"]);
    assert.equal(clock.alarms, 0);
  });

  it("awaits nothing for longer than the editor lets it", async () => {
    const shutdown = new Shutdown();
    const clock = new FakeClock();
    void shutdown.join(new Promise(() => {}));
    const ended = shutdown.finish(clock);
    clock.advance(4000);
    await ended;
  });

  it("comes at once where nothing is active", async () => {
    const clock = new FakeClock();
    await new Shutdown().finish(clock);
    assert.equal(clock.alarms, 0);
  });
});
