import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { execa } from "execa";
import { sql } from "kysely";
import { DefinitionWanted } from "../../src/client/service/replyErrors.ts";
import { withDefinition } from "../../src/client/start/definition.ts";
import { everyOrgName } from "../../src/contract/keys.ts";
import { dayMilliseconds } from "../../src/contract/limits.ts";
import type { RunDefinition } from "../../src/contract/run.ts";
import { largestSnapshot } from "../../src/contract/service.ts";
import { parseDefinition } from "../../src/team/parseDefinition.ts";
import { PostgresWriter } from "../../src/team/store/postgresWriter.ts";
import { storedPipelines } from "../../src/team/store/storedPipelines.ts";
import { sweepStored } from "../../src/team/store/storedRetention.ts";
import { mostBytesADay, nameSnapshot, putSnapshot } from "../../src/team/store/storedSnapshots.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

describe("a project's files on a service of many machines", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  const makeTeam = async () => Team.make(await lend());

  it("travel to the service once while they are the same, and to the runner as they were sent", async () => {
    await using team = await makeTeam();
    await using folder = await TemporaryFolder.make();
    await execa("git", ["init", "-q"], { cwd: folder.path });
    await mkdir(join(folder.path, "pipelines"));
    const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
    await writeFile(join(folder.path, "pipelines/hello.yaml"), text);
    await writeFile(join(folder.path, "large"), randomBytes(2.5 * mebibyte));
    const client = team.client(0);
    let sent = 0;
    const put = client.putSnapshot.bind(client);
    client.putSnapshot = (...snapshot) => {
      sent += 1;
      return put(...snapshot);
    };
    const request = { pipeline: "hello", project: "shop" };
    const first = await withDefinition(request, client, folder.path, never);
    const second = await withDefinition(request, client, folder.path, never);
    assert.deepEqual([sent, second], [1, first]);
    const { rows } = await sql<{ bytes: number }>`
      select octet_length(content) as bytes from snapshot_pieces order by position`.execute(team.db);
    assert.equal(rows.length, 3);
    assert.ok(
      rows.every(({ bytes }) => bytes < 1.1 * mebibyte),
      "more than a piece at once",
    );
    const runner = team.runnerApi(1, await team.key("runner", everyOrgName));
    const runnerId = await runner.register("fetching", never);
    const attempt = await client.start(second, { idempotencyKey: "start", waitSeconds: 0 }, never);
    assert(attempt.kind === "started");
    const { runId } = attempt.run;
    assert.equal((await runner.work(runnerId, [], 5, never))?.runId, runId);
    const digest = first.definition?.snapshot ?? "";
    // It checks the digest.
    const content = await runner.snapshot({ runId, runnerId }, digest, never);
    assert.equal(
      content.length,
      rows.reduce((sum, { bytes }) => sum + bytes, 0),
    );
  });

  it("are the same, and there once, when two send them at once", async () => {
    await using team = await makeTeam();
    const content = new Uint8Array(randomBytes(1.5 * mebibyte));
    const digest = createHash("sha256").update(content).digest("hex");
    await Promise.all([0, 1].map((server) => team.client(server).putSnapshot(digest, content, never)));
    const named = await team.db.selectFrom("snapshot_pieces").select(["digest", "position"]).execute();
    assert.deepEqual(named.map(({ position }) => position).sort(), [0, 1]);
    assert.ok(named.every((piece) => piece.digest === digest));
    assert.equal(await team.client(0).hasSnapshot(digest, never), true);
  });

  it("are not kept when they are others than was said", async () => {
    await using team = await makeTeam();
    const content = new Uint8Array(randomBytes(1000));
    const digest = "0".repeat(64);
    await assert.rejects(team.client(0).putSnapshot(digest, content, never), { type: "invalid-request" });
    assert.equal(await team.client(0).hasSnapshot(digest, never), false);
    assert.deepEqual(await team.db.selectFrom("snapshots").select("digest").execute(), []);
  });

  it("are asked for again by a start that names some that aren't there, and no run is used", async () => {
    await using team = await makeTeam();
    const client = team.client(0);
    const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
    const start = (snapshot: string) =>
      client.start(
        { pipeline: "hello", project: "shop", definition: { path: "pipelines/hello.yaml", text, snapshot } },
        { idempotencyKey: crypto.randomUUID(), waitSeconds: 0 },
        never,
      );
    await assert.rejects(start("0".repeat(64)), DefinitionWanted);
    assert.equal((await client.org(never)).usage.runsToday, 0);
    const content = new Uint8Array(randomBytes(1000));
    const digest = createHash("sha256").update(content).digest("hex");
    await client.putSnapshot(digest, content, never);
    assert.equal((await start(digest)).kind, "started");
    const kept = team.db.selectFrom("pipelines").select("name");
    await until(async () => (await kept.execute()).length > 0);
    // As the page's Run Again does once they are past their retention.
    await team.db.deleteFrom("snapshots").execute();
    const parser = { parse: async (_: string, definition: RunDefinition) => parseDefinition(definition) };
    const pipelines = storedPipelines(team.db, parser);
    await assert.rejects(pipelines.find(await team.orgId(), { pipeline: "hello" }), { status: 428 });
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("go within minutes where no start names them, and have a bound an org and a day", async () => {
    await using team = await makeTeam();
    const { db } = team;
    const client = team.client(0);
    const content = new Uint8Array(randomBytes(1000));
    const digest = createHash("sha256").update(content).digest("hex");
    await client.putSnapshot(digest, content, never);
    const writer = new PostgresWriter(db);
    await until(async () => {
      await sweepStored(writer, 30, Date.now() + 601_000);
      return !(await client.hasSnapshot(digest, never));
    });
    await db
      .updateTable("snapshot_days")
      .set({ bytes: mostBytesADay - 1000 })
      .execute();
    await client.putSnapshot(digest, content, never);
    await assert.rejects(client.putSnapshot(digest, content, never), {
      message: /more than 4 GiB of projects' files today/,
    });
    await db.updateTable("snapshot_days").set({ day: "2020-01-01" }).execute();
    await client.putSnapshot(digest, content, never);
  });

  it("count in that bound as far as they have come, where their caller breaks off", async () => {
    await using team = await makeTeam();
    const { db } = team;
    const rows = {
      sending: db.selectFrom("snapshots").select("digest"),
      pieces: db.selectFrom("snapshot_pieces").select("position"),
    };
    const countAfter = async (bytes: number) => {
      const sending = request(`${team.servers[0]?.url}/api/snapshots/${"0".repeat(64)}`, {
        method: "PUT",
        headers: { "x-api-key": team.memberKey, "content-length": largestSnapshot },
      });
      sending.on("error", () => {});
      sending.flushHeaders();
      sending.write(Buffer.alloc(bytes));
      const arrived = bytes === 0 ? rows.sending : rows.pieces;
      await until(async () => (await arrived.execute()).length > 0);
      sending.destroy();
      await until(async () => (await rows.sending.execute()).length === 0);
      const [day] = await db.selectFrom("snapshot_days").select("bytes").execute();
      return day?.bytes ?? 0;
    };
    assert.equal(await countAfter(0), 0);
    const sent = await countAfter(1.5 * mebibyte);
    assert.ok(sent >= mebibyte && sent <= 1.5 * mebibyte, `${sent} bytes`);
  });

  it("go with their retention, and an hour after their server has died while they were sent", async () => {
    await using team = await makeTeam();
    const orgId = await team.orgId();
    const { db } = team;
    const writer = new PostgresWriter(db);
    const now = Date.now();
    const content = randomBytes(1000);
    const digest = createHash("sha256").update(content).digest("hex");
    async function* pieces() {
      yield content;
    }
    const { length } = content;
    await putSnapshot({ db, writer }, { orgId, digest }, { length, pieces: pieces() }, now);
    await nameSnapshot(db, { orgId, digest });
    // More than one transaction removes.
    const sent = Array.from({ length: 25 }, (_, count) => `sending_${count}`).sort();
    await db
      .insertInto("snapshots")
      .values(sent.map((each) => ({ org_id: orgId, digest: each, used_at: now, is_named: false })))
      .execute();
    const digests = async (at: number) => {
      await sweepStored(writer, 30, at);
      const rows = await db.selectFrom("snapshots").select("digest").orderBy("digest").execute();
      return rows.map((row) => row.digest);
    };
    assert.deepEqual(await digests(now + 3_000_000), [digest, ...sent]);
    // The servers sweep as well, once they have begun, and one sweeps at a time.
    await until(async () => (await digests(now + 4_000_000)).join() === digest);
    await until(async () => (await digests(now + 31 * dayMilliseconds)).length === 0);
    assert.deepEqual(await db.selectFrom("snapshot_pieces").select("position").execute(), []);
  });
});
