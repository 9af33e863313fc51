import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Run } from "../../../src/contract/run.ts";
import { pickHolder, whoHolds } from "../../../src/extension/commands/whoHolds.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";
import { fakePick } from "../fakePick.ts";
import { org as lamps } from "../status/facts.ts";

const run = (others: Partial<Run> = {}): Run => ({
  runId: "run_1",
  pipeline: "long",
  project: "shop",
  status: "running",
  actor: "key_2",
  runner: "local",
  createdAt: "2026-03-03T09:59:50Z",
  timeLimitSeconds: 60,
  ...others,
});
const org = { ...lamps, actor: "key_me" };
const live = (...activeRuns: Run[]): SessionState => ({ kind: "live", org, activeRuns });

function opened(runs: readonly Run[], others: { wanted?: string; ahead?: number | undefined } = {}) {
  const clock = new FakeClock();
  const state = new ObservableValue<SessionState>({ kind: "connecting" });
  const { pick, choose, leave } = fakePick();
  const holding = { runs, me: "key_me" };
  const answer = pickHolder(holding, {
    window: { createQuickPick: () => pick as never },
    session: { state },
    clock,
    ahead: "ahead" in others ? others.ahead : 0,
    wanted: others.wanted,
  });
  return { clock, state, pick, choose, leave, answer };
}

describe("the list of who holds the slot", () => {
  it("tells whose run it is, since when, and how long it may still take, second by second", async () => {
    const { clock, pick, leave, answer } = opened([run()]);
    const [row] = pick.rows;
    assert.equal(`${row?.label} ${row?.description}`, "$(sync~spin) long by key_2");
    assert.match(row?.detail ?? "", /^shop · run_1 · since .+ · time limit .+$/);
    assert.equal(pick.placeholder, "Free within 50 s");
    await turn();
    clock.advance(1000);
    await turn();
    assert.equal(pick.placeholder, "Free within 49 s");
    assert.equal(pick.drawn, 1, "its rows stand still");
    leave();
    assert.deepEqual(await answer, { kind: "left" });
    assert(pick.isDisposed);
    await turn();
    assert.equal(clock.alarms, 0);
  });

  it("names whose run it is, where the service names keys, and never as an icon", async () => {
    const { pick, leave } = opened([
      run({ actorName: "ada $(bug)" }),
      run({ actor: "key_me", actorName: "me" }),
    ]);
    const of = pick.rows.filter(({ label }) => label === "$(sync~spin) long");
    assert.deepEqual(
      of.map(({ description }) => description),
      ["by ada $ (bug)", "your run"],
    );
    leave();
  });

  it("counts on the service's clock, and says nothing of the time where that isn't told", () => {
    const off = opened([run({ createdAt: "2026-03-03T04:59:50Z" })], { ahead: -5 * 3_600_000 });
    assert.equal(off.pick.placeholder, "Free within 50 s");
    const untold = opened([run()], { ahead: undefined });
    assert.equal(untold.pick.placeholder, "It is unknown when the slot becomes free.");
    assert.equal(untold.pick.rows[0]?.detail, "shop · run_1");
    off.leave();
    untold.leave();
  });

  it("is not shown for a service that lists no runs, which is said", async () => {
    await using service = await LoopbackService.listen(({ path }, response) =>
      path === "/api/org" ? sendJson(response, 200, orgOnWire) : response.writeHead(404).end(),
    );
    const told: string[] = [];
    await whoHolds({
      session: {
        connect: async () => service.client(new FakeClock()),
        state: new ObservableValue({ kind: "idle" }),
      },
      window: { showInformationMessage: async (text: string) => void told.push(text) },
      signal: new AbortController().signal,
    } as never);
    assert.deepEqual(told, [`${service.host} doesn't report who holds the slot.`]);
  });

  it("tells of no refused key where a service that lists its runs shows none", async () => {
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs: [runOnWire()] });
      return sendError(response, 401, "unauthorized");
    });
    const { pick, choose } = fakePick();
    const told: string[] = [];
    const shown = whoHolds({
      session: {
        connect: async () => service.client(new FakeClock()),
        state: new ObservableValue({ kind: "idle" }),
      },
      window: {
        createQuickPick: () => pick,
        showInformationMessage: async (text: string) => void told.push(text),
        withProgress: (_: unknown, task: (...given: unknown[]) => unknown) =>
          task({}, { onCancellationRequested: () => {} }),
      },
      signal: new AbortController().signal,
    } as never);
    await until(async () => pick.rows.length > 0);
    choose(/Notify me when/);
    await shown;
    assert.deepEqual(told, [`${service.host} doesn't report when runs end.`]);
  });

  it("offers to cancel a run, to open its log, and to run the wanted pipeline once it has ended", async () => {
    for (const [label, kind] of [
      [/Cancel long/, "cancel"],
      [/Open the log of long/, "log"],
      [/Run nightly when long finishes/, "wait"],
    ] as const) {
      const { choose, answer } = opened([run()], { wanted: "nightly" });
      choose(label);
      assert.deepEqual(await answer, { kind, run: run() });
    }
  });

  it("follows the runs: another that takes the slot is shown, and a free slot is offered", async () => {
    const { state, pick, choose, answer } = opened([run()], { wanted: "nightly" });
    state.set(live(run({ status: "cancelling" })));
    assert.equal(pick.drawn, 1);
    assert.equal(pick.placeholder, "It is unknown when the slot becomes free.");
    state.set(live(run({ runId: "run_2", pipeline: "other", actor: "key_me" })));
    assert.equal(`${pick.rows[0]?.label} ${pick.rows[0]?.description}`, "$(sync~spin) other your run");
    state.set(live());
    assert.equal(pick.placeholder, "The slot is free.");
    choose(/Run nightly/);
    assert.deepEqual(await answer, { kind: "run" });
  });
});
