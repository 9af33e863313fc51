import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import type { Run } from "../../../src/contract/run.ts";
import { clockFile, retentionDaysOf, sweepRuns, TrustedTime } from "../../../src/service/runs/retention.ts";
import { SqliteWriter } from "../../../src/service/store/writer.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { ended, programPipeline, started, startedService, untilCancelled } from "../startedService.ts";

const retention = { days: 14, bytes: 1e9 };
const never = new AbortController().signal;
const hour = 3_600_000;

type Service = Awaited<ReturnType<typeof startedService>>;

describe("the files of a run that has ended", () => {
  it("are removed hour by hour on the service's clock, which whoever asks for them is told", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client, secret } = await service.member();
    const { runId } = await loudRun(service, client);
    await looked(service, clock);
    clock.set("2026-03-17T11:30:00Z");
    clock.advance(hour);
    await looked(service, clock);
    assert.deepEqual(await folders(service), [runId]);
    clock.set("2026-03-18T11:30:00Z");
    clock.advance(hour);
    await gone(service, runId);
    const reply = await service.fetch(`/api/runs/${runId}/log`, { headers: { "x-api-key": secret } });
    assert.equal(reply.status, 404);
    const { error } = (await reply.json()) as { error: { type: string; message: string } };
    assert.equal(error.type, "not-found");
    assert.match(error.message, /removed on 2026-03-18/);
  });

  it("are removed as soon as the service starts, after as many days as it was told", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock, retention: { days: 1 } });
    const { client } = await service.member();
    const { runId } = await loudRun(service, client);
    clock.set("2026-03-05T11:59:00Z");
    await service.restart();
    assert.deepEqual(await folders(service), [runId]);
    clock.set("2026-03-05T12:00:01Z");
    await service.restart();
    await gone(service, runId);
  });

  it("stay at a start whose clock is far ahead of the last one, whatever was kept of that", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client } = await service.member();
    const { runId } = await loudRun(service, client);
    for (const kept of ["as it is", "none", "", "{}", '{"believed":"x"}']) {
      if (kept === "none") await rm(clockFile(service.data));
      else if (kept !== "as it is") await writeFile(clockFile(service.data), kept);
      clock.set("2040-01-01T00:00:00Z");
      await service.restart();
      await looked(service, clock);
      assert.deepEqual(await folders(service), [runId]);
    }
    clock.set("2040-01-02T00:00:00Z");
    await service.restart();
    await gone(service, runId);
  });

  it("go without the run, which stays and counts", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client } = await service.member();
    const { runId } = await loudRun(service, client);
    const { artifacts } = await client.run(runId, never);
    assert.equal(artifacts?.length, 1);
    const sweep = () => sweepRuns({ ...store(service), folder: service.data, retention }, clock.now());
    clock.set("2026-03-18T11:59:59Z");
    assert.equal(await sweep(), 0);
    assert.deepEqual(await folders(service), [runId]);
    clock.set("2026-03-18T12:00:01Z");
    assert.equal(await sweep(), 1);
    assert.deepEqual(await folders(service), []);
    assert.equal(await sweep(), 0);
    const run = await client.run(runId, never);
    assert.deepEqual([run.status, run.artifacts, run.steps?.length], ["failed", undefined, 2]);
    clock.set("2026-03-04T13:00:00Z");
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("are removed earlier, the oldest first, when all together are too large", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push((await loudRun(service, client)).runId);
    const limited = { days: 14, bytes: 25_000 };
    assert.equal(
      await sweepRuns({ ...store(service), folder: service.data, retention: limited }, Date.now()),
      1,
    );
    assert.deepEqual(await folders(service), ids.slice(1));
  });

  it("stay while the run is active, however old it is", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(`console.log('hello'); ${untilCancelled}`));
    const { runId } = await started(client, "long");
    await until(async () => (await folders(service)).length > 0);
    const none = { days: 1, bytes: 0 };
    const inAYear = Date.now() + 365 * 24 * hour;
    assert.equal(await sweepRuns({ ...store(service), folder: service.data, retention: none }, inAYear), 0);
    assert.deepEqual(await folders(service), [runId]);
  });

  it("are removed also for a run that is no more, and nothing else is", async () => {
    await using service = await startedService();
    for (const name of ["run_withdrawn", "of-another-program"]) {
      await mkdir(join(service.data, "runs", name, "artifacts"), { recursive: true });
      await writeFile(join(service.data, "runs", name, "artifacts", "0-1"), "");
    }
    await service.restart();
    await gone(service, "run_withdrawn");
    assert.deepEqual(await folders(service), ["of-another-program"]);
  });
});

describe("the time by which files are removed", () => {
  const newestRun = async () => Date.parse("2026-03-04T12:00:00Z");

  async function believed(looks: readonly (string | "restart")[]) {
    await using folder = await TemporaryFolder.make();
    const logged: string[] = [];
    const begin = () =>
      new TrustedTime({ folder: folder.path, newestRun, log: (_, message) => logged.push(message) });
    let time = begin();
    const said: string[] = [];
    for (const look of looks) {
      if (look === "restart") time = begin();
      else said.push(new Date(await time.at(Date.parse(`${look}Z`))).toISOString().slice(0, 16));
    }
    return { said, logged };
  }

  it("is the clock's, while that goes on by no more than a day at once, or goes back", async () => {
    const looks = ["2026-03-04T13:00", "2026-03-05T13:00", "2026-03-01T09:00", "2026-03-01T10:00"];
    const { said, logged } = await believed(looks);
    assert.deepEqual(said, looks);
    assert.deepEqual(logged, []);
  });

  it("is the one before the clock leapt ahead, until the clock has said so for a day", async () => {
    const { said, logged } = await believed([
      "2026-03-04T13:00",
      "2026-05-01T00:00",
      "2026-05-01T23:59",
      "2026-05-02T00:00",
    ]);
    assert.deepEqual(said, ["2026-03-04T13:00", "2026-03-04T13:00", "2026-03-04T13:00", "2026-05-02T00:00"]);
    assert.match(logged.join("\n"), /^the clock has leapt ahead[^\n]*$/);
  });

  it("doesn't take a clock that leaps again and again for one that has said so for a day", async () => {
    const before = "2026-03-04T13:00";
    const leaps = [before, "2026-05-01T00:00", "2026-08-01T00:00", "2027-01-01T00:00"];
    assert.deepEqual((await believed(leaps)).said, [before, before, before, before]);
    const setRight = [before, "2026-05-01T00:00", "2026-03-04T14:00", "2026-05-02T12:00"];
    assert.deepEqual((await believed(setRight)).said.at(-1), "2026-03-04T14:00");
  });

  it("goes on where the last start has left it, also on a machine that is used once a week", async () => {
    const { said } = await believed([
      ...["2026-03-04T13:00", "restart", "2026-03-11T13:00", "2026-03-11T15:00"],
      ...["restart", "2026-03-18T13:00", "restart", "2026-03-25T13:00"],
    ]);
    assert.deepEqual(said, [
      "2026-03-04T13:00",
      "2026-03-04T13:00",
      "2026-03-04T13:00",
      "2026-03-18T13:00",
      "2026-03-18T13:00",
    ]);
  });

  it("is known to this start where it can't be stored", async () => {
    const logged: string[] = [];
    const time = new TrustedTime({
      folder: join(tmpdir(), "no-such-folder-of-anybody"),
      newestRun,
      log: (_, message) => logged.push(message),
    });
    const at = (text: string) => time.at(Date.parse(text));
    assert.equal(await at("2026-05-01T00:00Z"), await newestRun());
    assert.equal(await at("2026-05-02T00:00Z"), Date.parse("2026-05-02T00:00Z"));
    assert(logged.includes("the time could not be stored"));
  });
});

describe("the setting of how long files are kept", () => {
  it("is a whole number of days, or nothing", () => {
    assert.equal(retentionDaysOf({}), undefined);
    assert.equal(retentionDaysOf({ PIPELINE_RETENTION_DAYS: "" }), undefined);
    assert.equal(retentionDaysOf({ PIPELINE_RETENTION_DAYS: "90" }), 90);
    for (const wrong of ["0", "-1", "1.5", "ten", "3651", "99999999999"]) {
      assert.throws(() => retentionDaysOf({ PIPELINE_RETENTION_DAYS: wrong }), {
        type: "usage",
        message: `PIPELINE_RETENTION_DAYS is \`${wrong}\`.`,
      });
    }
  });
});

function folders(service: Service): Promise<string[]> {
  return readdir(join(service.data, "runs")).catch(() => []);
}

function store({ db }: Service) {
  return { db, writer: new SqliteWriter(db), log: () => {} };
}

/** Resolves when the service has looked at the clock as it is now, has removed what it then removes, and waits for the next hour. */
async function looked(service: Service, clock: FakeClock): Promise<void> {
  const stored = () => readFile(clockFile(service.data), "utf8").catch(() => "");
  await until(async () => clock.alarmsIn(hour) === 1 && (await stored()).includes(String(clock.now())));
}

async function gone(service: Service, name: string): Promise<void> {
  await until(async () => !(await folders(service)).includes(name));
}

/** A run that ends with a log of some 10 kB and an artifact. */
async function loudRun(service: Service, client: ServiceClient): Promise<Run> {
  await service.write(
    "loud",
    [
      "resources: { shell: { type: cli }, web: { type: http } }",
      "steps:",
      `  - { use: shell, run: ${JSON.stringify([process.execPath, "-e", "console.log('x'.repeat(10_000))"])} }`,
      `  - { use: web, get: "${service.url}/no-such-page" }`,
    ].join("\n"),
  );
  return ended(client, await started(client, "loud"));
}
