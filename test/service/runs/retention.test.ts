import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import type { Run } from "../../../src/contract/run.ts";
import { retentionDaysOf, sweepRuns } from "../../../src/service/runs/retention.ts";
import { sqliteWriter } from "../../../src/service/store/writer.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
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
    await looked(clock);
    clock.set("2026-03-17T11:30:00Z");
    clock.advance(hour);
    await looked(clock);
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
  return { db, writer: sqliteWriter(db), log: () => {} };
}

/** Resolves when the service has removed what it removes now, and waits for the next hour. */
async function looked(clock: FakeClock): Promise<void> {
  await until(async () => clock.alarmsIn(hour) === 1);
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
