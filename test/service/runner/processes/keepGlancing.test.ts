import assert from "node:assert/strict";
import { keepGlancing } from "../../../../src/service/runner/processes/keepGlancing.ts";

describe("glancing at a run's processes", () => {
  it("goes on by itself after a look, also after a glance that failed", async () => {
    const thrice = Promise.withResolvers<void>();
    let glances = 0;
    using glancing = keepGlancing(() => {
      glances += 1;
      if (glances === 3) thrice.resolve();
      throw new Error("too many open files");
    });
    assert.equal(glances, 0);
    glancing.look();
    assert.equal(glances, 1);
    const alive = setInterval(() => undefined, 1000);
    await thrice.promise;
    clearInterval(alive);
  });
});
