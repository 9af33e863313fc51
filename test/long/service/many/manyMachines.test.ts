import assert from "node:assert/strict";
import { PipelineError } from "../../../../src/contract/errors.ts";
import type { RunnerMessage } from "../../../../src/contract/runners.ts";
import { postgresFolder } from "../../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../../postgres/lentDatabases.ts";
import { startedPostgres } from "../../../postgres/startedPostgres.ts";
import { Team } from "../../../team/team.ts";
import { until } from "../../../until.ts";

const never = new AbortController().signal;

describe("a service on many machines", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  const makeTeam = async () => Team.make(await lend());

  it("runs on a runner what was started on a server, and shows its log on another one", async () => {
    await using team = await makeTeam();
    await team.startRunner();
    const run = await team.start(0, "echo hello from a runner");
    const ended = await team.ended(1, run.runId);
    assert.equal(ended.status, "succeeded", ended.reason);
    assert.match(ended.runner ?? "", /^test-machine_/);
    assert.match(await team.log(1, run.runId), /hello from a runner/);
    assert.equal((await team.client(0).org(never)).usage.runsToday, 1);
  });

  it("ends the processes of a run that is cancelled on another server, and starts who waits", async () => {
    await using team = await makeTeam();
    await team.startRunner();
    const run = await team.start(0, "sleep 60");
    await until(() => team.isTaken(run.runId));
    const next = team.start(1, "echo next", { waitSeconds: 60 });
    await team.client(1).cancel(run.runId, never);
    assert.equal((await team.ended(0, run.runId)).status, "cancelled");
    assert.equal((await team.ended(0, (await next).runId)).status, "succeeded");
  });

  it("ends a run as lost whose runner is silent past its lease, and hears no word of it any more", async () => {
    await using team = await makeTeam();
    const run = await team.start(0, "echo never");
    const silent = team.runnerApi(0);
    const runnerId = await silent.register("silent", never);
    assert.equal((await silent.work(runnerId, [], 5, never))?.runId, run.runId);
    const next = team.start(1, "echo next", { waitSeconds: 60 });
    await team.pastLease(run.runId);
    assert.equal((await team.ended(0, run.runId)).status, "lost");
    await assert.rejects(
      silent.sendMessages(
        { runId: run.runId, runnerId },
        1,
        [{ kind: "output", index: 0, at: new Date().toISOString(), stream: "stdout", text: "late\n" }],
        never,
      ),
      { type: "conflict" },
    );
    assert.equal(await team.log(0, run.runId), "");
    await team.startRunner();
    assert.equal((await team.ended(0, (await next).runId)).status, "succeeded");
  });

  it("writes a run's end whatever is in its runner's words, and nothing that comes after it", async () => {
    await using team = await makeTeam();
    const { runId } = await team.start(0, "echo odd");
    const runner = team.runnerApi(0);
    const runnerId = await runner.register("odd", never);
    await runner.work(runnerId, [], 5, never);
    const at = new Date().toISOString();
    const messages: RunnerMessage[] = [
      { kind: "step", index: 0, name: "a\0b", type: "cli", status: "running", startedAt: at },
      { kind: "ended", end: { kind: "died", message: "broken\0off" } },
      { kind: "output", index: 0, at, stream: "stdout", text: "late\n" },
    ];
    await runner.sendMessages({ runId, runnerId }, 1, messages, never);
    // Sent again, since the reply was lost.
    await runner.sendMessages({ runId, runnerId }, 1, messages, never);
    await assert.rejects(
      runner.sendMessages({ runId, runnerId }, 2, messages, never),
      (error) => error instanceof PipelineError && error.type === "conflict",
    );
    const run = await team.client(1).run(runId, never);
    assert.deepEqual([run.status, run.reason, run.steps?.[0]?.name], ["lost", "broken\ufffdoff", "a\ufffdb"]);
    assert.equal(await team.log(0, runId), "");
  });

  it("hears from a runner that the time limit ended its run, and not that somebody cancelled it", async () => {
    await using team = await makeTeam();
    const apiKey = await team.key("runner");
    const runner = team.runnerApi(0, apiKey);
    const runnerId = await runner.register("liar", never);
    const { runId } = await team.start(0, "echo odd");
    await runner.work(runnerId, [], 5, never);
    const end = (reason: object) =>
      fetch(`${team.servers[0]?.url}/api/runs/${runId}/messages`, {
        method: "POST",
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
        body: JSON.stringify({
          "runner-id": runnerId,
          first: 1,
          messages: [{ kind: "ended", end: { kind: "stopped" }, "stop-reason": reason }],
        }),
      });
    assert.equal((await end({ kind: "cancelled", by: "Alice" })).status, 400);
    const timedOut = { kind: "timed-out", seconds: 2, origin: "file", step: "a\0b" };
    assert((await end(timedOut)).ok);
    const run = await team.client(1).run(runId, never);
    assert.equal(run.status, "timed-out");
    assert.match(run.reason ?? "", /time limit of 2 s during the step `a\ufffdb`/);
  });

  it("shows its metrics on its own machine only, and to no balancer there", async () => {
    await using team = await makeTeam();
    const { url } = team.servers[0] ?? assert.fail();
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^pipeline_runs_waiters 0$/m);
    const headers = { "x-forwarded-for": "192.0.2.1" };
    assert.equal((await fetch(`${url}/metrics`, { headers })).status, 403);
  });

  it("answers 503 while its database is away, and then goes on", async () => {
    await using postgres = await startedPostgres(native, AbortSignal.timeout(110_000));
    await using team = await Team.make(`${postgres.server}postgres`);
    const { url } = team.servers[0] ?? assert.fail();
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    await postgres.stop();
    const away = await fetch(`${url}/readyz`);
    assert.equal(away.status, 503);
    assert.equal(away.headers.get("retry-after"), "1");
    const asked = [
      fetch(`${url}/api/org`, { headers: { "x-api-key": team.memberKey } }),
      fetch(`${url}/api/runs`, { method: "POST", headers: { "x-api-key": team.memberKey }, body: "{}" }),
      fetch(`${url}/app/sign-in`, {
        method: "POST",
        headers: { origin: url, "content-type": "application/x-www-form-urlencoded" },
        body: `api-key=${team.memberKey}`,
      }),
    ];
    for (const reply of await Promise.all(asked)) {
      assert.deepEqual([reply.status, reply.headers.get("retry-after")], [503, "1"], await reply.text());
    }
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^pipeline_runs_waiters 0$/m);
    await postgres.restart();
    await until(async () => (await fetch(`${url}/readyz`)).status === 200);
    assert.equal((await team.client(0).org(never)).usage.runsToday, 0);
    // A balancer asks every second.
    const checks = team.logged
      .map((line) => JSON.parse(line))
      .filter(({ route }) => route === "/readyz" || route === "/metrics");
    assert.deepEqual([...new Set(checks.map(({ level }) => level))], ["debug"]);
  });
});
