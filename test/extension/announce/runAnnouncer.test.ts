import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import type { Run } from "../../../src/contract/run.ts";
import {
  type AnnounceLevel,
  RunAnnouncer,
  readAnnounceLevel,
} from "../../../src/extension/announce/runAnnouncer.ts";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { Claims } from "../../../src/extension/window/claims.ts";
import { Emitter, ObservableValue } from "../../../src/extension/window/observable.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";
import { memoryClaims } from "../memoryClaims.ts";
import { fakeWindow } from "../start/fakeWindow.ts";

const run = (others: Partial<Run> = {}): Run => ({
  runId: "run_1",
  pipeline: "nightly",
  project: "shop",
  status: "running",
  actor: "key_me",
  runner: "local",
  createdAt: "2026-03-03T10:00:00Z",
  timeLimitSeconds: 30,
  ...others,
});
const ended = (status: string, others: Partial<Run> = {}) =>
  run({ status, stoppedAt: "2026-03-03T10:00:02Z", ...others });

function windowWith(
  level: AnnounceLevel,
  claims: Claims = memoryClaims(),
  presses: string[] = [],
  currentClient?: ServiceClient,
) {
  const { window, shown, texts } = fakeWindow(presses);
  const clock = new FakeClock();
  const session = {
    currentClient,
    reading: new ObservableValue<OrgReading | undefined>(undefined),
    runChanged: new Emitter<Run>(),
    state: new ObservableValue<SessionState>({
      kind: "live",
      org: {
        orgId: "org_1",
        orgName: "Lamps",
        tier: "free",
        limits: { parallelRuns: 1, runsPerDay: 50 },
        usage: { runsToday: 1 },
        actor: "key_me",
      },
      activeRuns: [],
    }),
  };
  const executed: unknown[][] = [];
  const settings = { level };
  const announcer = new RunAnnouncer({
    window,
    session,
    claims,
    clock,
    log: { info: () => {}, warn: () => {} },
    signal: new AbortController().signal,
    level: () => settings.level,
    setLevel: async (next) => {
      settings.level = next;
    },
    executeCommand: async (...command) => executed.push(command),
    showProblem: async () => assert.fail("nothing goes wrong here"),
  });
  const settle = async () => {
    for (let turns = 0; turns < 50; turns++) await turn();
    while (clock.alarms > 0) {
      clock.advanceToNext();
      for (let turns = 0; turns < 50; turns++) await turn();
    }
  };
  const tell = (...runs: Run[]) => {
    for (const one of runs) session.runChanged.emit(one);
    return settle();
  };
  return { announcer, session, tell, settle, shown, texts, executed, settings };
}

describe("the announcement of a run's end", () => {
  it("goes by the setting: mine or anyone's, failures or all", async () => {
    const cases: readonly (readonly [Run, readonly AnnounceLevel[]])[] = [
      [ended("failed"), ["myFailures", "mine", "failures", "all"]],
      [ended("timed-out"), ["myFailures", "mine", "failures", "all"]],
      [ended("succeeded"), ["mine", "all"]],
      [ended("cancelled"), ["mine", "all"]],
      [ended("failed", { actor: "key_2" }), ["failures", "all"]],
      [ended("succeeded", { actor: "key_2" }), ["all"]],
    ];
    for (const [end, announcedAt] of cases) {
      for (const level of ["none", "myFailures", "mine", "failures", "all"] as const) {
        const { tell, shown } = windowWith(level);
        await tell(run({ actor: end.actor }), end);
        assert.equal(shown.all.length, announcedAt.includes(level) ? 1 : 0, `${end.status} at ${level}`);
      }
    }
  });

  it("is of runs that ended under this window's eyes, not of those that had before", async () => {
    const { tell, shown } = windowWith("all");
    await tell(ended("failed"));
    assert.deepEqual(shown.all, []);
  });

  it("is of a run that ended while the service's events were broken off", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      const isLost = asked.path === "/api/runs/run_1";
      sendJson(response, 200, runOnWire(isLost ? lost : { "run-id": "run_2" }));
    });
    const lost = {
      status: "lost",
      actor: "key_me",
      reason: "the service died while it ran",
      "stopped-at": "2026-03-03T10:00:02Z",
    };
    const client = service.client(systemClock);
    const { session, tell, shown, texts, settle } = windowWith("myFailures", memoryClaims(), [], client);
    const reading = { at: 0, servedAt: 0 };
    session.reading.set({ ...reading, how: "followed" });
    await tell(
      run(),
      run({ runId: "run_2" }),
      run({ runId: "run_3" }),
      ended("cancelled", { runId: "run_3" }),
    );
    session.reading.set({ ...reading, how: "followed" });
    assert.deepEqual(service.asked, [], "nothing is asked while events come");
    session.reading.set(undefined);
    session.reading.set({ ...reading, how: "followed" });
    assert.deepEqual(service.asked, [], "nor at 00:00 UTC");
    session.currentClient = service.client(systemClock);
    session.reading.set({ ...reading, how: "asked" });
    session.reading.set({ ...reading, how: "followed" });
    await until(async () => {
      await settle();
      return shown.all.length > 0 && service.asked.length > 1;
    });
    assert.deepEqual(texts("error"), ["nightly was lost: the service died while it ran"]);
    assert.deepEqual(
      service.asked.map(({ path }) => path),
      ["/api/runs/run_1", "/api/runs/run_2"],
    );
  });

  it("is not asked of another org's service, whose runs are others", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendJson(response, 200, runOnWire({})),
    );
    const { session, tell, settle } = windowWith("all", memoryClaims(), [], service.client(systemClock));
    const reading = { at: 0, servedAt: 0, how: "followed" } as const;
    session.reading.set(reading);
    await tell(run());
    const { value } = session.state;
    assert.ok(value.kind === "live");
    session.state.set({ ...value, org: { ...value.org, orgId: "org_2" } });
    session.currentClient = service.client(systemClock);
    session.reading.set(reading);
    await settle();
    assert.deepEqual(service.asked, []);
  });

  it("is made once, by one of several windows", async () => {
    const claims = memoryClaims();
    const windows = [windowWith("myFailures", claims), windowWith("myFailures", claims)];
    for (const { tell } of windows) await tell(run(), ended("failed"), ended("failed"));
    assert.equal(windows.flatMap(({ shown }) => shown.all).length, 1);
  });

  it("is left to who cancels the run", async () => {
    const { announcer, tell, shown } = windowWith("all");
    announcer.suppress("run_1");
    await tell(run(), ended("cancelled"));
    assert.deepEqual(shown.all, []);
  });

  it("of this window's own run is made once, though the service tells of it too", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      if (asked.path !== "/api/runs/run_1") response.writeHead(404).end();
      else sendJson(response, 200, runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:02Z" }));
    });
    const { announcer, tell, texts } = windowWith("myFailures");
    const telling = tell(run(), ended("failed"));
    await announcer.follow(service.client(systemClock), run(), async () => {});
    await telling;
    assert.deepEqual(texts("error"), ["nightly failed."]);
  });

  it("that isn't wanted stands in the status bar for a run of this window's own", async () => {
    const steps = [{ name: "a", type: "cli", status: "failed" }];
    await using service = await LoopbackService.listen((asked, response) => {
      const end = { status: "failed", "stopped-at": "2026-03-03T10:00:02Z", steps };
      if (asked.path === "/api/runs/run_1") sendJson(response, 200, runOnWire(end));
      else response.writeHead(404).end();
    });
    const { announcer, shown } = windowWith("none");
    await announcer.follow(service.client(systemClock), run({ pipeline: "a $(x)" }), async () => {});
    assert.deepEqual(
      shown.all.map(({ kind, text }) => [kind, text]),
      [["status", "$(error) nightly failed"]],
    );
  });

  it("leads to the log and to another run", async () => {
    for (const [press, command] of [
      ["Run Again", ["pipelineRuns.run", { pipeline: "nightly", project: "shop", inputs: { region: "eu" } }]],
      ["Open Log", ["pipelineRuns.openLog", { runId: "run_1" }]],
    ] as const) {
      const { tell, executed } = windowWith("myFailures", memoryClaims(), [press]);
      const inputs = { region: "eu", shop: "***" };
      await tell(run(), { ...ended("failed"), inputs, evaluatedInputs: ["shop"] });
      assert.deepEqual(executed, [command]);
    }
  });

  it("is made less often at Don't Show Again, which can be undone", async () => {
    const { tell, texts, settings } = windowWith("myFailures", memoryClaims(), ["Don't Show Again"]);
    await tell(run(), ended("failed"));
    assert.equal(settings.level, "none");
    assert.match(texts("info")[0] ?? "", /pipelineRuns\.announce/);
    const undone = windowWith("all", memoryClaims(), ["Don't Show Again", "Undo"]);
    await undone.tell(run(), ended("succeeded"));
    assert.equal(undone.settings.level, "all");
    const fewer = windowWith("all", memoryClaims(), ["Don't Show Again"]);
    await fewer.tell(run(), ended("succeeded"));
    assert.equal(fewer.settings.level, "failures");
  });

  it("is of failures of mine where the setting is none of its values", () => {
    assert.equal(readAnnounceLevel("loudly"), "myFailures");
    assert.equal(readAnnounceLevel(undefined), "myFailures");
    assert.equal(readAnnounceLevel("none"), "none");
  });
});
