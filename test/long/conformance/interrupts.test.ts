import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { systemClock } from "../../../src/machine/clock.ts";
import { serviceProxy } from "../../cli/serviceProxy.ts";
import { written } from "../../cli/toolbox.ts";
import { runOnWire, sendJson } from "../../client/loopbackService.ts";
import { endProcess } from "../../endProcessesOf.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { at, givenService, sendShape, startsAnswered } from "./givenService.ts";
import { posixRow, posixRowCase } from "./row.ts";
import { type Member, type ServedTool, servedTool } from "./servedTool.ts";
import type { Told } from "./watchedTool.ts";

const id = "contract, The command-line tool: rule 9";
const interrupted = 130;

describe("conformance: Ctrl-C", () => {
  let served: ServedTool;
  let pidFile: string;
  before(async () => {
    served = await servedTool();
    pidFile = join(served.project, "pid");
    await served.write("hello", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled, "1h"));
    // Only in tests that wait until it is gone: the next one would take its late word for that of its own run.
    await served.write("followed", programPipeline(`${writePid} ${untilCancelled}`, "1h"));
    await served.write(
      "stubborn",
      programPipeline(`process.on('SIGTERM', () => {}); ${writePid} ${untilCancelled}`, "1h"),
    );
  });
  beforeEach(() => rm(pidFile, { force: true }));
  after(() => served[Symbol.asyncDispose]());

  /** The tool once it has ended by the interrupt, with what holds for every end. */
  async function endOf(running: ReturnType<ServedTool["spawn"]>) {
    const { exitCode, stdout, stderr } = await running;
    assert.equal(exitCode, interrupted, stderr);
    return served.watched({ exitCode, stdout, stderr });
  }

  /** A person's second Ctrl-C, pressed until it isn't taken for an echo of the first. */
  const again = (running: ReturnType<ServedTool["spawn"]>) => until(async () => !running.kill("SIGINT"));

  /** What is left on the service: the runs, newest first, and how many of the day's it has cost. */
  async function left(someone: Member) {
    const { runs } = await someone.told("GET", "/api/runs");
    const { usage } = await someone.told("GET", "/api/org");
    return {
      runs: runs.map(({ pipeline, status }: Told) => `${pipeline} ${status}`),
      used: usage["runs-today"],
    };
  }

  const cancel = (someone: Member, run: Told): Promise<Told> =>
    someone.told("POST", `/api/runs/${run["run-id"]}/cancel`);

  const proxyOf = (someone: Member, options: Parameters<typeof serviceProxy>[1]) =>
    serviceProxy({ url: served.url, token: someone.secret }, options);

  posixRow(id, "while following, the run is cancelled and its slot is free when the tool ends", async () => {
    const someone = await served.member();
    const following = served.spawn(["run", "followed"], someone.env);
    const pid = await writtenPid(pidFile);
    following.kill("SIGINT");
    const { stdout, stderr } = await endOf(following);
    assert(!isAlive(pid));
    assert.match(stdout, /^run_\w+ followed cancelled$/);
    assert.match(
      stderr,
      /followed: cancelling run_\w+; Ctrl-C again leaves at once, without waiting for its end\n/,
    );
    assert.match(
      stderr,
      /followed: cancelled in [\s\S]*pipeline: interrupted: followed cancelled \(run_\w+\)\.$/,
    );
    assert.deepEqual(await left(someone), { runs: ["followed cancelled"], used: 1 });
    assert.equal((await someone.start("hello")).status, "running");
  });

  posixRowCase(
    id,
    "while waiting, the turn is given up: no run is made, and the next to ask is served",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const waiting = served.spawn(["run", "long"], someone.env);
      await written(waiting.stderr, /gives up in 120 s/);
      waiting.kill("SIGINT");
      const { stdout, stderr } = await endOf(waiting);
      assert.equal(stdout, "");
      assert.match(stderr, /^pipeline: interrupted: long stopped waiting, and no run was started\.$/m);
      await cancel(someone, run);
      await someone.stopped(run["run-id"]);
      assert.deepEqual(await left(someone), { runs: ["long cancelled"], used: 1 });
      assert.equal((await someone.start("hello")).status, "running");
    },
  );

  posixRowCase(
    id,
    "while waiting, when the grant is on its way: that run is found, cancelled and waited for",
    async () => {
      const someone = await served.member();
      const run = await someone.start("long");
      const isGranted = Promise.withResolvers<void>();
      await using proxy = await proxyOf(someone, {
        beforeReply: (_, status, headers) => {
          if (headers["prefer"] === undefined || status !== 201) return undefined;
          isGranted.resolve();
          return new Promise(() => {});
        },
      });
      const waiting = served.spawn(["run", "long"], proxy.env);
      await written(waiting.stderr, /gives up in 120 s/);
      await cancel(someone, run);
      await isGranted.promise;
      waiting.kill("SIGINT");
      const { stderr } = await endOf(waiting);
      assert.match(stderr, /^pipeline: interrupted: long cancelled \(run_\w+\)\.$/m);
      assert.deepEqual(await left(someone), { runs: ["long cancelled", "long cancelled"], used: 2 });
    },
  );

  posixRowCase(
    id,
    "while the service holds the start, its connection is closed and nothing else is asked",
    async () => {
      await using service = await startsAnswered(async ({ headers }, response, gone) => {
        if (headers["prefer"] === undefined)
          sendShape(response, { name: "", body: '{"error":"too-many-runs"}' });
        else await service.hold(systemClock, 600_000, gone);
      });
      const waiting = served.spawn(["run", "nightly"], at(service));
      await service.until(() => service.held === 1);
      waiting.kill("SIGINT");
      await endOf(waiting);
      await service.until(() => service.held === 0);
      assert.equal(service.asked.filter(({ path }) => path.endsWith("/cancel")).length, 0);
    },
  );

  posixRowCase(id, "while the service is looked for, nothing was started", async () => {
    await using data = await TemporaryFolder.make();
    const asked = Promise.withResolvers<void>();
    const silent = createServer(() => asked.resolve());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const connection = { url, pid: process.pid, token: "plk_machine", instance: "another" };
    await writeFile(join(data.path, "service.json"), JSON.stringify(connection));
    const finding = served.spawn(["run", "hello"], { PIPELINE_DATA_DIR: data.path });
    await asked.promise;
    finding.kill("SIGINT");
    const { stdout, stderr } = await endOf(finding);
    silent.closeAllConnections();
    silent.close();
    assert.deepEqual([stdout, stderr], ["", "pipeline: interrupted"]);
  });

  posixRowCase(
    id,
    "while the start is being answered, its run is cancelled once it is known (SIGHUP)",
    async () => {
      const someone = await served.member();
      const isGranted = Promise.withResolvers<void>();
      const isInterrupted = Promise.withResolvers<void>();
      await using proxy = await proxyOf(someone, {
        beforeReply: (line) => {
          if (line !== "POST /api/runs") return undefined;
          isGranted.resolve();
          return isInterrupted.promise;
        },
      });
      const starting = served.spawn(["run", "long"], proxy.env);
      await isGranted.promise;
      starting.kill("SIGHUP");
      // By the time that another tool has started, asked and ended, this one has heard the signal.
      await served.run(["org"], someone.env);
      isInterrupted.resolve();
      const { stdout, stderr } = await endOf(starting);
      assert.match(stdout, /^run_\w+ long cancelled$/);
      assert.match(stderr, /^pipeline: interrupted: long cancelled \(run_\w+\)\.$/m);
      assert.deepEqual(await left(someone), { runs: ["long cancelled"], used: 1 });
    },
  );

  for (const isHeld of [false, true]) {
    const which = isHeld ? "a held start" : "the start";
    posixRowCase(
      id,
      `when the answer to ${which} was lost, that run is found, cancelled and waited for`,
      async () => {
        const someone = await served.member();
        const held = isHeld ? await someone.start("long") : undefined;
        const isLost = Promise.withResolvers<void>();
        let lost = 0;
        await using proxy = await proxyOf(someone, {
          beforeReply: (line, status) => {
            if (line !== "POST /api/runs" || status !== 201 || lost > 0) return undefined;
            lost += 1;
            isLost.resolve();
            return "lost";
          },
        });
        const starting = served.spawn(["run", "stubborn"], proxy.env);
        if (held !== undefined) {
          await written(starting.stderr, /gives up in 120 s/);
          await cancel(someone, held);
        }
        await isLost.promise;
        starting.kill("SIGINT");
        const { stderr } = await endOf(starting);
        assert.match(stderr, /^pipeline: interrupted: stubborn cancelled \(run_\w+\)\.$/m);
        const runs = held === undefined ? [] : ["long cancelled"];
        assert.deepEqual((await left(someone)).runs, ["stubborn cancelled", ...runs]);
      },
    );
  }

  posixRowCase(
    id,
    "while the answer to the start doesn't come, that run is found and cancelled",
    async () => {
      const someone = await served.member();
      const isGranted = Promise.withResolvers<void>();
      let granted = 0;
      await using proxy = await proxyOf(someone, {
        beforeReply: (line, status) => {
          if (line !== "POST /api/runs" || status !== 201) return undefined;
          granted += 1;
          isGranted.resolve();
          return granted === 1 ? new Promise(() => {}) : undefined;
        },
      });
      const starting = served.spawn(["run", "long"], proxy.env);
      await isGranted.promise;
      starting.kill("SIGINT");
      const { stderr } = await endOf(starting);
      assert.match(stderr, /^pipeline: interrupted: long cancelled \(run_\w+\)\.$/m);
      assert.deepEqual(await left(someone), { runs: ["long cancelled"], used: 1 });
    },
  );

  for (const isTwice of [false, true]) {
    const when = isTwice ? ", at the second one at once" : "";
    posixRowCase(
      id,
      `while no answer to a start ever comes, it claims no more than it knows${when}`,
      async () => {
        const someone = await served.member();
        const isGranted = Promise.withResolvers<void>();
        const isAskedAfter = Promise.withResolvers<void>();
        await using proxy = await proxyOf(someone, {
          beforeReply: (line, status) => {
            if (line.startsWith("GET /api/runs?")) isAskedAfter.resolve();
            if (line !== "POST /api/runs" || status !== 201) return undefined;
            isGranted.resolve();
            return new Promise(() => {});
          },
        });
        const starting = served.spawn(["run", "long", "--json"], proxy.env);
        await isGranted.promise;
        starting.kill("SIGINT");
        await isAskedAfter.promise;
        if (isTwice) await again(starting);
        const { type, message } = JSON.parse((await endOf(starting)).stdout).error;
        assert.equal(type, "interrupted");
        assert.match(
          message,
          /it is unknown whether a run of long was started[:.] `pipeline runs list --active` shows it\.$/,
        );
        assert.deepEqual((await left(someone)).runs, ["long running"]);
      },
    );
  }

  posixRowCase(
    id,
    "while the look at its run fails, the cancel is carried through all the same",
    async () => {
      const cancels = () => service.asked.filter(({ path }) => path.endsWith("/cancel")).length;
      await using service = await startsAnswered((_, response) => sendJson(response, 201, runOnWire()), {
        besides: async ({ path }, response) => {
          if (path === "/api/runs/run_1") {
            waiting.kill("SIGINT");
            await service.until(() => cancels() === 1);
            sendJson(response, 404, { error: "not-found" });
            return true;
          }
          if (cancels() !== 1 || !path.endsWith("/cancel")) return false;
          await service.until(() => service.asked.some(({ path }) => path === "/api/runs/run_1"));
          response.destroy();
          return true;
        },
      });
      const waiting = served.spawn(["run", "nightly"], at(service));
      await endOf(waiting);
      assert.equal(cancels(), 2);
    },
  );

  posixRowCase(id, "a second one leaves at once, and tells what may still be in work", async () => {
    const someone = await served.member();
    const following = served.spawn(["run", "stubborn", "--json"], someone.env);
    const pid = await writtenPid(pidFile);
    following.kill("SIGINT");
    await until(async () => (await left(someone)).runs.join() === "stubborn cancelling");
    await again(following);
    const { error, runs } = JSON.parse((await endOf(following)).stdout);
    assert(isAlive(pid), "it didn't wait for the slot");
    const [{ "run-id": runId }] = runs;
    assert.equal(
      error.message,
      `interrupted: stubborn may still be running (${runId}). \`pipeline runs show ${runId}\` shows it.`,
    );
    await endProcess(pid, "SIGKILL");
    assert.equal((await someone.stopped(runId)).status, "cancelled");
  });

  posixRowCase(id, "of several pipelines none is begun after it (SIGTERM)", async () => {
    const someone = await served.member();
    const running = served.spawn(["run", "hello", "followed", "hello", "--json"], someone.env);
    const pid = await writtenPid(pidFile);
    running.kill("SIGTERM");
    const told = JSON.parse((await endOf(running)).stdout);
    assert(!isAlive(pid));
    assert.equal(told.error.type, "interrupted");
    assert.match(
      told.error.message,
      /^interrupted: hello succeeded \(run_\w+\); followed cancelled \(run_\w+\); hello was not started\.$/,
    );
    assert.deepEqual(await left(someone), { runs: ["followed cancelled", "hello succeeded"], used: 2 });
  });

  posixRowCase(id, "what --detach has started is left alone, and the turn of the next given up", async () => {
    const someone = await served.member();
    const starting = served.spawn(["run", "long", "hello", "--detach"], someone.env);
    await written(starting.stderr, /gives up in 120 s/);
    starting.kill("SIGINT");
    const { stdout, stderr } = await endOf(starting);
    assert.match(stdout, /^run_\w+ long running$/);
    assert.match(
      stderr,
      /interrupted: long was started \(run_\w+\); hello stopped waiting, and no run was started\.$/,
    );
    assert.deepEqual(await left(someone), { runs: ["long running"], used: 1 });
  });

  posixRowCase(id, "at a service that says nothing, the tool ends all the same", async () => {
    await using service = await givenService({
      besides: async (_asked, _response, gone) => {
        await service.hold(systemClock, 600_000, gone);
        return true;
      },
    });
    const asking = served.spawn(["org"], at(service));
    await service.until(() => service.held === 1);
    asking.kill("SIGINT");
    assert.equal((await endOf(asking)).stdout, "");
  });
});
