import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Run } from "../../../src/contract/run.ts";
import { pickRun } from "../../../src/extension/commands/pickRun.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { fakePick } from "../fakePick.ts";

const never = new AbortController().signal;

/** @param ahead how far the service's clock is ahead of this machine's, in milliseconds. */
async function opened(others: readonly Partial<Run>[], ahead = 0) {
  const clock = new FakeClock();
  const servedAt = clock.now() + ahead;
  const runs = others.map(
    (other, index): Run => ({
      runId: `run_${index + 1}`,
      pipeline: "nightly",
      project: "lamps",
      status: "running",
      actor: "key_1",
      createdAt: new Date(servedAt - 42_000).toISOString(),
      ...other,
    }),
  );
  const client = { orgAndTime: async () => ({ org: { actor: "key_1" }, servedAt }), clock };
  const { pick, choose, leave } = fakePick();
  const answer = pickRun(
    runs,
    { title: "Cancel Run", placeHolder: "Select the run to cancel" },
    client as never,
    { createQuickPick: () => pick as never },
    never,
  );
  await turn();
  const texts = () => pick.rows.map(({ description, detail }) => `${description} | ${detail}`);
  return { clock, runs, pick, choose, leave, answer, texts };
}

describe("picking a run from a list", () => {
  it("tells how long a run is active by the service's clock, whatever this machine's says", async () => {
    const { leave, answer, texts } = await opened([{}], 3_600_000);
    assert.deepEqual(texts(), ["running for 42 s | run_1, started by you"]);
    leave();
    assert.equal(await answer, undefined);
  });

  it("moves the active runs' times each second until it is answered, and keeps the row that has the focus", async () => {
    const { clock, runs, pick, choose, answer, texts } = await opened([{}, { pipeline: "hello" }]);
    pick.activeItems = pick.rows.slice(1);
    clock.advance(1000);
    await turn();
    assert.match(texts().join(), /^running for 43 s .*running for 43 s/);
    assert.deepEqual(
      pick.activeItems.map(({ label }) => label),
      ["hello"],
    );
    choose(/hello/);
    assert.equal(await answer, runs[1]);
    assert(pick.isDisposed);
    await turn();
    assert.equal(clock.alarms, 0);
  });

  it("has no timer for runs that have ended", async () => {
    const { clock, leave, answer } = await opened([{ status: "succeeded" }]);
    assert.equal(clock.alarms, 0);
    leave();
    await answer;
  });

  it("tells what the runs were given, which tells two of one pipeline apart", async () => {
    const { leave, answer, texts } = await opened([
      { inputs: { region: "eu", lamps: 2, shop: "***" }, evaluatedInputs: ["shop"] },
    ]);
    assert.match(texts()[0] ?? "", / \| region=eu, lamps=2, run_1, started by you$/);
    leave();
    await answer;
  });

  it("names the runs' projects where they are of several", async () => {
    const { leave, answer, texts } = await opened([{}, { project: "shop", actor: "key_2" }]);
    assert.deepEqual(texts(), [
      "running for 42 s | lamps, run_1, started by you",
      "running for 42 s | shop, run_2, started by key_2",
    ]);
    leave();
    await answer;
  });
});
