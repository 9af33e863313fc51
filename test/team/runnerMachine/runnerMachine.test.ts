import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mock } from "node:test";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { RunnerMessage } from "../../../src/contract/runners.ts";
import { type Clock, systemClock } from "../../../src/machine/clock.ts";
import { MachineRun, type MachineRunDeps } from "../../../src/team/runnerMachine/machineRun.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { runRunner } from "../../service/testRunner.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { protocolServer } from "./protocolServer.ts";

const never = new AbortController().signal;

describe("a runner's machine", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  afterEach(() => mock.restoreAll());

  it("tells of a run once and in order, also where replies are lost", async () => {
    let count = 0;
    await using service = await protocolServer(({ kind }) => {
      if (kind !== "messages") return undefined;
      count += 1;
      writeFileSync(join(folder.path, `asked-${count}`), "");
      return count % 2 === 1 ? "cut" : undefined;
    });
    // Each line is printed once another request has come, so that none of them has all lines.
    const asked = `until test -e ${folder.path}/asked-$n; do sleep 0.02; done`;
    service.offer("run_1", `for n in 1 2 3 4 5 6 7 8; do echo line $n; ${asked}; done`);
    await service.run(never);
    const told = service.messages.get("run_1") ?? [];
    assert.deepEqual(
      told.map(({ kind }) => kind).filter((kind) => kind !== "output"),
      ["pipeline", "step", "step", "ended"],
    );
    const lines = told.map(({ text = "" }) => text).join("");
    assert.match(lines, /line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n/);
    assert.equal(lines.split("line 1\n").length, 2);
    assert.equal(told.at(-1)?.kind, "ended");
    assert.ok(count >= 8);
  });

  it("gives a run up whose files can't be fetched for five minutes", async () => {
    let now = 0;
    const { run, said } = runOfSnapshot(folder.path, {
      snapshot: () => Promise.reject(new Error("The files broke off.")),
      clock: {
        ...systemClock,
        monotonic: () => now,
        sleep: async (milliseconds) => {
          now += milliseconds;
        },
        // The fence of a lease that never ends, and the time limit.
        after: () => () => {},
      },
    });
    assert.equal(await run.over, "delivered");
    assert(now >= 300_000 && now <= 302_000, `after ${now} ms`);
    const message = "its runner couldn't begin it: The files broke off.";
    assert.deepEqual(said, [{ kind: "ended", end: { kind: "died", message } }]);
  });

  it("gives a run back un-begun where its disk is full, and rests for longer each time", async () => {
    const draining = new AbortController();
    const said: RunnerMessage[] = [];
    const slept: number[] = [];
    const text = '{ "resources": { "sh": { "type": "cli" } }, "steps": [{ "use": "sh", "run": "true" }] }';
    const work = { path: "pipelines/test.yaml", text, snapshot: "0".repeat(64) };
    let given = 0;
    await runRunner({ url: "http://127.0.0.1:1", apiKey: "key-of-tests" }, draining.signal, {
      api: {
        register: async () => "rnr_testrunner",
        work: async () => {
          given += 1;
          return { runId: `run_${given}`, work, timeLimitSeconds: 30, leaseSeconds: 20 };
        },
        heartbeat: async () => ({ stop: [], gone: [] }),
        snapshot: async () => new Uint8Array(),
        sendMessages: async (_run, _first, messages) => void said.push(...messages),
        putArtifact: () => assert.fail(),
      },
      unpack: () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" })),
      clock: {
        ...systemClock,
        async sleep(milliseconds, signal) {
          if (milliseconds < 5_000) return systemClock.sleep(milliseconds, signal);
          slept.push(milliseconds);
          if (slept.length === 3) draining.abort();
        },
      },
    });
    assert.deepEqual(said, [{ kind: "returned" }, { kind: "returned" }, { kind: "returned" }]);
    assert.ok(
      slept.every((rest, at) => at === 0 || rest >= (slept[at - 1] ?? 0)),
      String(slept),
    );
  });

  it("counts the fetching and the unpacking of a run's files in its time limit", async () => {
    for (const phase of ["fetching", "unpacking"]) {
      const clock = new FakeClock("2026-03-04T12:00:00Z");
      const begun = Promise.withResolvers<void>();
      const untilEnded = (signal: AbortSignal) =>
        new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          begun.resolve();
        });
      const { run, said } = runOfSnapshot(folder.path, {
        clock,
        snapshot: async (_run, _digest, signal) =>
          phase === "fetching" ? untilEnded(signal) : new Uint8Array(),
        unpack: (_archive, _folder, signal) => untilEnded(signal),
      });
      await begun.promise;
      clock.advance(30_000);
      assert.equal(await run.over, "delivered");
      const stopReason = {
        kind: "timed-out",
        seconds: 30,
        stepsMilliseconds: undefined,
        origin: "file",
        step: undefined,
      };
      assert.deepEqual(said, [{ kind: "ended", end: { kind: "stopped" }, stopReason }], phase);
    }
  });

  it("ends a run at its time limit also where the unpacking of its files never does", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const begun = Promise.withResolvers<void>();
    const { run, said } = runOfSnapshot(folder.path, {
      clock,
      snapshot: async () => new Uint8Array(),
      unpack: () => {
        begun.resolve();
        return new Promise<never>(() => {});
      },
    });
    await begun.promise;
    clock.advance(30_000);
    assert.equal(await run.over, "delivered");
    assert.deepEqual(
      said.map((message) => message.kind === "ended" && message.end),
      [{ kind: "stopped" }],
    );
  });

  it("says of a run that was cancelled only that it is stopped", async () => {
    const { run, said } = runOfSnapshot(folder.path, {
      clock: new FakeClock("2026-03-04T12:00:00Z"),
      snapshot: (_run, _digest, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          run.stop({ kind: "cancelled", by: "Alice" });
        }),
    });
    assert.equal(await run.over, "delivered");
    assert.deepEqual(said, [{ kind: "ended", end: { kind: "stopped" } }]);
  });

  it("asks again for a run whose reply was lost, and names those that it has", async () => {
    let isLost = false;
    let offered: unknown;
    await using service = await protocolServer(({ kind, body: { runs } }) => {
      if (kind !== "work") return undefined;
      if (!isLost) {
        isLost = true;
        return "cut";
      }
      return Array.isArray(runs) && runs.length === 0 ? { status: 200, body: offered } : undefined;
    });
    const file = join(folder.path, "named");
    offered = service.offer("run_1", `until test -e ${file}; do sleep 0.02; done`);
    const draining = new AbortController();
    const running = service.run(draining.signal, 2, false);
    const named = () => service.asked.flatMap(({ kind, body }) => (kind === "work" ? [body["runs"]] : []));
    await until(async () => named().length >= 3);
    writeFileSync(file, "");
    await until(async () => service.messages.get("run_1")?.at(-1)?.kind === "ended");
    draining.abort();
    await running;
    assert.deepEqual(named().slice(0, 3), [[], [], ["run_1"]]);
  });

  it("ends what cleans up where the run is cancelled once more, and never where it was told of one cancel again", async () => {
    const [begun, cleaning] = [join(folder.path, "begun"), join(folder.path, "cleaning")];
    const reason = { kind: "cancelled", by: "Alice" };
    let told = 0;
    await using service = await protocolServer(({ kind }) => {
      if (kind !== "heartbeat" || !existsSync(begun)) return undefined;
      if (existsSync(cleaning)) told += 1;
      const again = told > 2 ? { again: true } : {};
      return {
        status: 200,
        body: { stop: [{ "run-id": "run_1", reason: { ...reason, ...again } }], gone: [] },
      };
    });
    service.offerFile("run_1", {
      "finally-limit": "14s",
      steps: [{ use: "sh", run: `touch ${begun}; exec sleep 1000` }],
      finally: [{ use: "sh", run: `echo $$ > ${cleaning}; exec sleep 1000` }],
    });
    await service.run(never);
    assert.equal(isAlive(Number(readFileSync(cleaning, "utf8"))), false);
    assert.ok(told > 2, `told ${told} times`);
  });

  it("ends a run that is gone without a word", async () => {
    const file = join(folder.path, "gone");
    await using service = await protocolServer(({ kind }) =>
      kind === "heartbeat" && existsSync(file)
        ? { status: 200, body: { stop: [], gone: ["run_1"] } }
        : undefined,
    );
    service.offer("run_1", `echo $$ > ${file}; exec sleep 1000`);
    await service.run(never);
    assert.equal(isAlive(Number(readFileSync(file, "utf8"))), false);
    assert.ok(!service.messages.get("run_1")?.some(({ kind }) => kind === "ended"));
  });

  it("ends a run whose messages are refused, and never begins it again", async () => {
    const file = join(folder.path, "refused");
    const conflict = { status: 409, body: { error: { type: "conflict", message: "not yours" } } };
    await using service = await protocolServer(({ kind }) => (kind === "messages" ? conflict : undefined));
    const line = `echo $$ >> ${file}; exec sleep 1000`;
    service.offer("run_1", line);
    const draining = new AbortController();
    const running = service.run(draining.signal, 1, false);
    const worksNaming = () =>
      service.asked.filter(({ kind, body }) => kind === "work" && String(body["runs"]) === "run_1").length;
    await until(async () => worksNaming() > 0);
    service.offer("run_1", line);
    // What it was offered in the meantime it has passed over when it asks again.
    const before = worksNaming();
    await until(async () => worksNaming() > before + 1);
    draining.abort();
    await running;
    const started = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    assert.ok(started.length <= 1);
    assert.ok(started.every((pid) => !isAlive(Number(pid))));
  });

  it("doesn't begin a run whose answer took longer than its lease may wait", async () => {
    const file = join(folder.path, "late");
    // Two fifths of a second are over when the answer comes.
    let elapsed = 0n;
    const { bigint } = process.hrtime;
    mock.method(process.hrtime, "bigint", () => bigint() + elapsed);
    await using service = await protocolServer(({ kind }) => {
      if (kind === "work") elapsed += 600_000_000n;
      return undefined;
    });
    Object.assign(service.offer("run_1", `touch ${file}`), { "lease-seconds": 1 });
    const draining = new AbortController();
    const running = service.run(draining.signal);
    await until(async () => service.asked.filter(({ kind }) => kind === "work").length > 1);
    draining.abort();
    await running;
    assert.equal(existsSync(file), false);
    assert.equal(service.messages.size, 0);
  });

  it("keeps its pace where the service holds nothing", async () => {
    await using service = await protocolServer(({ kind }) => (kind === "work" ? { status: 204 } : undefined));
    const draining = new AbortController();
    let pauses = 0;
    const clock: Clock = {
      ...systemClock,
      async sleep() {
        pauses += 1;
      },
    };
    const { url } = service;
    const running = runRunner({ url, apiKey: "key-of-tests" }, draining.signal, { clock });
    const works = () => service.asked.filter(({ kind }) => kind === "work").length;
    await until(async () => works() >= 5);
    draining.abort();
    await running;
    assert.ok(pauses >= works() - 1, `${pauses} pauses between ${works()} requests`);
  });

  it("drains without the end of a run whose lease is long over, since the service stays away", async () => {
    let isAway = false;
    await using service = await protocolServer(({ kind, body: { messages } }) => {
      isAway ||= kind === "messages" && JSON.stringify(messages).includes('"step"');
      return isAway ? "cut" : undefined;
    });
    Object.assign(service.offer("run_1", "true"), { "lease-seconds": 1 });
    const draining = new AbortController();
    const running = service.run(draining.signal, 1, false);
    await until(async () => isAway);
    draining.abort();
    await running;
    assert.ok(!service.messages.get("run_1")?.some(({ kind }) => kind === "ended"));
  });

  it("asks for no work where the program of runs is gone", async () => {
    await using service = await protocolServer(() => undefined);
    const { url } = service;
    const program = {
      execPath: process.execPath,
      runnerPath: join(folder.path, "gone.js"),
      env: process.env,
    };
    await assert.rejects(
      runRunner({ url, apiKey: "key-of-tests" }, never, { program }),
      /gone\.js was removed/,
    );
    assert.deepEqual(
      service.asked.map(({ kind }) => kind),
      ["register"],
    );
  });

  it("ends with the error when the service refuses its key", async () => {
    const refusal = { status: 403, body: { error: { type: "forbidden", message: "no runner's key" } } };
    await using service = await protocolServer(({ kind }) => (kind === "register" ? refusal : undefined));
    await assert.rejects(
      service.run(never),
      (error) => error instanceof PipelineError && error.type === "forbidden",
    );
  });
});

interface SnapshotRunOptions {
  readonly clock: Clock;
  readonly snapshot: MachineRunDeps["api"]["snapshot"];
  readonly unpack?: MachineRunDeps["unpack"];
}

/** A run whose project's files have to be fetched first, with a lease that never ends, and what it has said. */
function runOfSnapshot(folder: string, { clock, snapshot, unpack }: SnapshotRunOptions) {
  const said: RunnerMessage[] = [];
  const text = '{ "resources": { "sh": { "type": "cli" } }, "steps": [{ "use": "sh", "run": "true" }] }';
  const work = { path: "pipelines/test.yaml", text, snapshot: "0".repeat(64) };
  const run = new MachineRun(
    { runId: "run_1", work, timeLimitSeconds: 30, leaseSeconds: 20 },
    Number.POSITIVE_INFINITY,
    {
      ...{ runnerId: "rnr_tests", folder, graceMilliseconds: 500, log: () => {} },
      api: {
        snapshot,
        sendMessages: async (_run, _first, messages) => void said.push(...messages),
        putArtifact: () => assert.fail(),
      },
      clock,
      draining: never,
      now: () => new Date(),
      runners: { take: () => assert.fail() },
      processes: {
        canTerminate: true,
        processesOf: () => assert.fail(),
        birthOf: () => assert.fail(),
      },
      unpack: unpack ?? (() => assert.fail()),
    },
  );
  return { run, said };
}
