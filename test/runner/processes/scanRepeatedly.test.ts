import assert from "node:assert/strict";
import { scanRepeatedly } from "../../../src/runner/serveRunner.ts";

describe("scans at a run's processes", () => {
  it("goes on by itself after a look, also after a glance that failed", async () => {
    const thrice = Promise.withResolvers<void>();
    let glances = 0;
    using scans = scanRepeatedly(() => {
      glances += 1;
      if (glances === 3) thrice.resolve();
      throw new Error("too many open files");
    });
    assert.equal(glances, 0);
    scans.look();
    const alive = setInterval(() => undefined, 1000);
    await thrice.promise;
    clearInterval(alive);
  });

  it("begins no glance before the one before is over, and then makes up for a look in between", async () => {
    const begun = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let glances = 0;
    using scans = scanRepeatedly(async () => {
      glances += 1;
      if (glances === 1) {
        begun.resolve();
        await first.promise;
      } else second.resolve();
    });
    scans.look();
    const alive = setInterval(() => undefined, 1000);
    await begun.promise;
    scans.look();
    assert.equal(glances, 1);
    first.resolve();
    await second.promise;
    clearInterval(alive);
  });
});
