import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { idMaker } from "../../../../src/service/store/ids.ts";
import { createKey } from "../../../../src/service/store/keys.ts";
import { serveDatabase } from "../../../../src/team/serveDatabase.ts";
import { isAlive } from "../../../isAlive.ts";
import { postgresFolder } from "../../../postgres/installPostgres.ts";
import { databasesForSuite, type LentDatabase } from "../../../postgres/lentDatabases.ts";
import { CutLine } from "../../../service/cutLine.ts";
import { parserPath } from "../../../service/programs.ts";
import { startedRunner } from "../../../service/startedProgram.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";
import { until } from "../../../until.ts";

describe("runners on other machines", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined || process.platform === "win32") return;
  const lend = databasesForSuite(native);

  it("run what the service has, and tell of its steps, its output and its end", async () => {
    await using service = await serviceOf(await lend());
    await using runner = await startedRunner(service.url, service.runnerKey);
    const { runId } = await service.start("echo one; echo two >&2", "echo three");
    const run = await service.stopped(runId);
    assert.deepEqual([run.status, run.runner], ["succeeded", runner.firstLine.slice("rnr_".length)]);
    assert.deepEqual(
      run.steps?.map(({ name, status }) => [name, status]),
      [
        ["echo one; echo two >&2", "succeeded"],
        ["echo three", "succeeded"],
      ],
    );
    const log = await service.log(runId);
    const texts = log.map(({ text }) => text);
    assert.deepEqual(texts.filter((text) => /^(one|two|three)\n$/.test(text)).sort(), [
      "one\n",
      "three\n",
      "two\n",
    ]);
    assert.deepEqual(
      log.map(({ sequence }) => sequence),
      texts.map((_, index) => index + 1),
    );
  });

  it("say at the beginning of the log which agent started the run", async () => {
    await using service = await serviceOf(await lend());
    await using _runner = await startedRunner(service.url, service.runnerKey);
    const { runId } = await service.startWith({ agent: "some-agent" }, "echo one");
    await service.stopped(runId);
    assert.equal((await service.log(runId))[0]?.text, "started by the agent some-agent\n");
  });

  it("skip the steps before the one that a run begins with", async () => {
    await using service = await serviceOf(await lend());
    await using _runner = await startedRunner(service.url, service.runnerKey);
    const { runId } = await service.startWith({ fromStep: "echo two" }, "echo one", "echo two");
    const { status, steps } = await service.stopped(runId);
    assert.equal(status, "succeeded");
    assert.deepEqual(
      steps?.map((step) => step.status),
      ["skipped", "succeeded"],
    );
    assert.deepEqual(
      (await service.log(runId)).map(({ text }) => text).filter((text) => text.startsWith("one")),
      [],
    );
  });

  it("fail a run whose env-file stayed on the machine of the start, and say what to do", async () => {
    await using service = await serviceOf(await lend());
    await using _runner = await startedRunner(service.url, service.runnerKey);
    const { runId } = await service.startWith({ envFile: ".env" }, "echo one");
    const { status, reason } = await service.stopped(runId);
    assert.equal(status, "failed");
    assert.match(reason ?? "", /`\.env`, didn't come .* in the runner's environment/);
  });

  it("end a run that is cancelled, and one that reaches its time limit", async () => {
    await using service = await serviceOf(await lend());
    await using _runner = await startedRunner(service.url, service.runnerKey, { slots: 2 });
    const { runId } = await service.start(`echo $$ > ${service.folder}/pid; exec sleep 1000`);
    const pid = await writtenPid(join(service.folder, "pid"));
    await service.post(`api/runs/${runId}/cancel`);
    const run = await service.stopped(runId);
    assert.equal(run.status, "cancelled");
    assert.equal(isAlive(pid), false);
    const limited = await service.startWith({ timeLimitSeconds: 4 }, "sleep 1000");
    const stopped = await service.stopped(limited.runId);
    assert.equal(stopped.status, "timed-out");
    assert.match(stopped.reason ?? "", /reached its time limit of 4 s during the step `sleep 1000`/);
  });

  it("drain at SIGTERM, and end after one run where they should", async () => {
    await using service = await serviceOf(await lend());
    await using runner = await startedRunner(service.url, service.runnerKey);
    const first = await service.start(`touch ${service.folder}/on; sleep 1`);
    await until(async () => existsSync(join(service.folder, "on")));
    runner.kill("SIGTERM");
    assert.equal((await service.stopped(first.runId)).status, "succeeded");
    const second = await service.start("true");
    assert.equal(await runner.exited, 0);
    await using once = await startedRunner(service.url, service.runnerKey, { isOnce: true });
    assert.equal((await service.stopped(second.runId)).status, "succeeded");
    assert.equal(await once.exited, 0);
  });

  it("leave no process by the time that their run counts as lost: killed, suspended, or cut off", async () => {
    await using service = await serviceOf(await lend());
    await using line = await CutLine.lay(() => service.url);
    const faults = await Promise.all(
      (["killed", "suspended", "cut off"] as const).map(async (fault) => {
        const org = await service.org();
        const runner = await startedRunner(fault === "cut off" ? line.origin : service.url, org.runnerKey);
        const file = join(service.folder, fault.replace(" ", ""));
        const { runId } = await org.start(`trap '' TERM; echo $$ > ${file}; while :; do sleep 1; done`);
        return { fault, org, runner, runId, pid: await writtenPid(file) };
      }),
    );
    line.become("silent");
    try {
      await Promise.all(
        faults.map(async ({ fault, org, runner, runId, pid }) => {
          if (fault === "killed") runner.kill("SIGKILL");
          if (fault === "suspended") runner.kill("SIGSTOP");
          const run = await org.stopped(runId);
          assert.equal(isAlive(pid), false, `${fault}: its process outlives its run`);
          assert.deepEqual([run.status, run.reason], ["lost", "its runner is gone"], fault);
        }),
      );
    } finally {
      for (const { runner } of faults) await runner[Symbol.asyncDispose]();
    }
  });

  it("tell what they have of a run's log and its end once they are in touch again", async () => {
    await using service = await serviceOf(await lend());
    await using line = await CutLine.lay(() => service.url);
    await using runner = await startedRunner(line.origin, service.runnerKey);
    const { runId } = await service.start(
      `echo $$ > ${service.folder}/pid; for n in $(seq 1000); do echo line $n; sleep 0.5; done`,
    );
    const pid = await writtenPid(join(service.folder, "pid"));
    line.become("silent");
    await until(async () => !isAlive(pid));
    line.become("open");
    const run = await service.stopped(runId);
    assert.deepEqual(
      [run.status, run.reason],
      ["lost", "its runner was out of touch with the service and ended it"],
    );
    const log = (await service.log(runId)).map(({ text }) => text).join("");
    assert.match(log, /line 1\n(.*\n)*line 10\n/, runner.log);
  });
});

/** A server of the service with an org, a project's starts and a runner's key. */
async function serviceOf(lent: LentDatabase) {
  const cleanUp = new AsyncDisposableStack();
  const { url, db } = cleanUp.use(lent);
  const serving = await serveDatabase({
    url,
    host: "127.0.0.1",
    port: 0,
    retentionDays: 1,
    parserPath,
    log: () => {},
  });
  cleanUp.defer(() => serving.stop());
  const folder = cleanUp.use(await TemporaryFolder.make()).path;
  const org = async () => {
    const orgName = randomUUID();
    const makeId = idMaker(Date.now);
    const { secret } = await createKey(db, { orgName, role: "member" }, { now: Date.now, makeId });
    const runner = await createKey(db, { orgName, role: "runner" }, { now: Date.now, makeId });
    return { runnerKey: runner.secret, ...callsOf(serving.url, secret) };
  };
  const first = await org();
  return { ...first, url: serving.url, folder, org, [Symbol.asyncDispose]: () => cleanUp.disposeAsync() };
}

interface SentRun {
  readonly "run-id": string;
  readonly status: string;
  readonly runner: string;
  readonly reason?: string;
  readonly "stopped-at"?: string;
  readonly steps?: readonly { readonly name: string; readonly status: string }[];
}

function callsOf(url: string, key: string) {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const ask = async (method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
    const reply = await fetch(`${url}/${path}`, {
      method,
      headers: { ...headers, ...more },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${text}`);
    return text;
  };
  const startWith = async (
    more: {
      readonly timeLimitSeconds?: number;
      readonly agent?: string;
      readonly envFile?: string;
      readonly fromStep?: string;
    },
    ...lines: readonly string[]
  ) => {
    const file = {
      ...(more.envFile === undefined ? {} : { "env-file": more.envFile }),
      resources: { sh: { type: "cli" } },
      steps: lines.map((run) => ({ use: "sh", run })),
    };
    const body = {
      pipeline: "work",
      project: "tests",
      definition: { path: "pipelines/work.yaml", text: JSON.stringify(file) },
      ...(more.fromStep === undefined ? {} : { "from-step": more.fromStep }),
      ...(more.timeLimitSeconds === undefined ? {} : { "time-limit-seconds": more.timeLimitSeconds }),
    };
    const agent = more.agent === undefined ? {} : { agent: more.agent };
    const run: SentRun = JSON.parse(await ask("POST", "api/runs", body, agent));
    return { runId: run["run-id"] };
  };
  return {
    startWith,
    start: (...lines: readonly string[]) => startWith({ timeLimitSeconds: 600 }, ...lines),
    post: (path: string) => ask("POST", path),
    /** The run, once it has stopped. */
    stopped: (runId: string) =>
      until(async () => {
        const run: SentRun = JSON.parse(await ask("GET", `api/runs/${runId}`));
        return run["stopped-at"] === undefined ? undefined : run;
      }),
    async log(runId: string): Promise<{ readonly sequence: number; readonly text: string }[]> {
      const reply = await fetch(`${url}/api/runs/${runId}/log`, {
        headers: { ...headers, accept: "application/x-ndjson" },
      });
      return (await reply.text()).split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
  };
}

async function writtenPid(file: string): Promise<number> {
  await until(async () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  return Number(readFileSync(file, "utf8"));
}
