import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import { pickRun, recentRun } from "../../../src/extension/commands/pickRun.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { timeOfDay } from "../../../src/text/time.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { pickingWindow } from "../fakePick.ts";

const never = new AbortController().signal;

/** The rows of a list of runs, and the run that a person picks from it. @param ahead how far the service's clock is ahead, in milliseconds. */
async function picked(others: readonly Partial<Run>[], { ahead = 0, label = /./ } = {}) {
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
  const { shown, showQuickPick } = pickingWindow(label);
  const words = { title: "Cancel Run", placeHolder: "Select the run to cancel" };
  const context = { me: "key_1", serviceNow: servedAt, now: clock.now() };
  const run = await pickRun(runs, words, context, { showQuickPick });
  const texts = shown.flat().map(({ description, detail }) => `${description} | ${detail}`);
  const since = `running since ${timeOfDay(clock.now() - 42_000)}`;
  return { runs, run, texts, since };
}

describe("picking a run from a list", () => {
  it("tells since when a run is active in the person's own time, whatever the service's clock says", async () => {
    const { texts, since } = await picked([{}], { ahead: 3_600_000 });
    assert.deepEqual(texts, [`${since} | run_1, started by you`]);
  });

  it("gives the run that was picked", async () => {
    const { run, runs } = await picked([{}, { pipeline: "hello" }], { label: /hello/ });
    assert.equal(run, runs[1]);
    assert.equal((await picked([{}], { label: /none/ })).run, undefined);
  });

  it("tells what the runs were given, which tells two of one pipeline apart", async () => {
    const { texts } = await picked([
      { inputs: { region: "eu", lamps: 2, shop: "***" }, evaluatedInputs: ["shop"] },
    ]);
    assert.match(texts[0] ?? "", / \| region=eu, lamps=2, run_1, started by you$/);
  });

  it("names the runs' projects where they are of several", async () => {
    const { texts, since } = await picked([{}, { project: "shop", actor: "key_2" }]);
    assert.deepEqual(texts, [
      `${since} | lamps, run_1, started by you`,
      `${since} | shop, run_2, started by key_2`,
    ]);
  });
});

describe("the run that a command is for", () => {
  const words = { title: "Open Run Log", placeHolder: "Select the run whose log to open" };

  /** The run of an argument, for a person who picks so, and the rows that they were offered. */
  async function found(argument: unknown, picks?: RegExp) {
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (!path.startsWith("/api/runs?")) return sendJson(response, 200, runOnWire());
      const runs = [runOnWire(), runOnWire({ "run-id": "run_0", pipeline: "hello" })];
      return sendJson(response, 200, { runs });
    });
    const { shown, showQuickPick } = pickingWindow(picks);
    const run = await recentRun(argument, words, {
      session: { connect: async () => service.client(systemClock) },
      runs: { find: () => undefined },
      window: { showQuickPick, showInformationMessage: async () => undefined },
      signal: never,
    });
    return { runId: run?.runId, offered: shown.flat().map(({ label }) => label) };
  }

  it("is the one that it is given, as an id or as what has one", async () => {
    for (const wanted of ["run_1", { runId: "run_1" }])
      assert.deepEqual(await found(wanted), { runId: "run_1", offered: [] });
    await assert.rejects(found({ something: "else" }), { type: "usage" });
  });

  it("is picked from the newest where it is given none", async () => {
    assert.deepEqual(await found(undefined, /nightly/), { runId: "run_1", offered: ["nightly", "hello"] });
    assert.equal((await found(undefined)).runId, undefined);
  });
});
