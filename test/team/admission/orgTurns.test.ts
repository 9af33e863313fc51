import assert from "node:assert/strict";
import { HttpProblem } from "../../../src/service/http/reply.ts";
import { OrgBusyError, OrgTurns } from "../../../src/team/admission/orgTurns.ts";
import { asUnavailable } from "../../../src/team/serveDatabase.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

describe("the turns of an org's decisions", () => {
  function started() {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    return { clock, turns: new OrgTurns(clock) };
  }

  it("come in order, and don't hold up those of other orgs", async () => {
    const { clock, turns } = started();
    const done: string[] = [];
    const { promise: first, resolve } = Promise.withResolvers<void>();
    const decisions = [
      turns.take("org_1", () => first.then(() => done.push("first"))),
      turns.take("org_1", async () => done.push("second")),
      turns.take("org_1", async () => done.push("third")),
    ];
    await turns.take("org_2", async () => done.push("of another"));
    resolve();
    await Promise.all(decisions);
    assert.deepEqual(done, ["of another", "first", "second", "third"]);
    assert.equal(clock.alarms, 0);
  });

  it("are given up after 5 s, and nobody comes before the one that was first", async () => {
    const { clock, turns } = started();
    const done: string[] = [];
    const { promise: first, resolve } = Promise.withResolvers<void>();
    const deciding = turns.take("org_1", () => first.then(() => done.push("first")));
    const late = assert.rejects(
      turns.take("org_1", async () => done.push("late")),
      OrgBusyError,
    );
    clock.advance(5_000);
    await late;
    const next = turns.take("org_1", async () => done.push("next"));
    resolve();
    await Promise.all([deciding, next]);
    assert.deepEqual(done, ["first", "next"]);
  });

  it("tell a caller who gives up to try again in a moment", () => {
    // The other is what a standby says of a write, in the moment of a failover.
    const readOnly = Object.assign(new Error("cannot execute UPDATE"), { code: "25006" });
    for (const error of [new OrgBusyError("busy"), readOnly]) {
      const problem = asUnavailable(error, new AbortController().signal);
      assert.ok(problem instanceof HttpProblem);
      assert.deepEqual([problem.status, problem.headers], [503, { "retry-after": "1" }]);
    }
  });
});
