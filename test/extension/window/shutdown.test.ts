import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { Endings } from "../../../src/extension/window/shutdown.ts";
import { FakeClock } from "../../client/fakeClock.ts";

describe("the end of a window", () => {
  it("awaits what is still ending, also what began while it waited", async () => {
    const endings = new Endings();
    const clock = new FakeClock();
    const start = Promise.withResolvers<void>();
    const cancel = Promise.withResolvers<void>();
    const over: string[] = [];
    const starting = endings.hold(start.promise).catch(() => endings.hold(cancel.promise));
    const ended = endings.over(clock).then(() => {
      over.push("the window");
    });
    start.reject(new Error("given up"));
    for (let turns = 0; turns < 20; turns++) await turn();
    assert.equal(over.length, 0);
    over.push("the cancel");
    cancel.resolve();
    await Promise.all([starting, ended]);
    assert.deepEqual(over, ["the cancel", "the window"]);
    assert.equal(clock.sleeping, 0);
  });

  it("awaits nothing for longer than the editor lets it", async () => {
    const endings = new Endings();
    const clock = new FakeClock();
    void endings.hold(new Promise(() => {}));
    const ended = endings.over(clock);
    clock.advance(4000);
    await ended;
  });

  it("comes at once where nothing is in work", async () => {
    const clock = new FakeClock();
    await new Endings().over(clock);
    assert.equal(clock.sleeping, 0);
  });
});
