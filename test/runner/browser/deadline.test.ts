import assert from "node:assert/strict";
import { mock } from "node:test";
import { StepDeadline } from "../../../src/runner/browser/deadline.ts";

describe("a browser step's deadline", () => {
  const { signal } = new AbortController();

  it("leaves no time to find out what is wrong with a page that has left a question unanswered", async () => {
    let asked = 0;
    const deadline = new StepDeadline(1, signal, () => {
      asked += 1;
      return new Promise(() => {});
    });
    const first = deadline.forDiagnosis();
    assert.ok(first.milliseconds > 0);
    assert.equal(await deadline.pageAnswers(), false);
    assert.equal(deadline.forDiagnosis().milliseconds, 0);
    assert.equal(asked, 1);
  });

  it("lets a busy page answer for as long as it is told", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const answer = Promise.withResolvers<void>();
      const deadline = new StepDeadline(20_000, signal, () => answer.promise);
      const [busy, endless] = [deadline.pageAnswersNow(10_000), deadline.pageAnswersNow(5000)];
      mock.timers.tick(9000);
      assert.equal(await endless, false);
      answer.resolve();
      assert.equal(await busy, true);
    } finally {
      mock.timers.reset();
    }
  });

  it("leaves time for a page that answers, and for one that is just replaced", async () => {
    for (const ask of [async () => 0, () => Promise.reject(new Error("Execution context was destroyed"))]) {
      const deadline = new StepDeadline(1, signal, ask);
      assert.equal(await deadline.pageAnswers(), true);
      assert.ok(deadline.forDiagnosis().milliseconds > 0);
    }
  });
});
