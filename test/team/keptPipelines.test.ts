import assert from "node:assert/strict";
import { sql } from "kysely";
import { dayMilliseconds } from "../../src/contract/limits.ts";
import type { Database } from "../../src/service/store/tables.ts";
import { PostgresWriter } from "../../src/team/store/postgresWriter.ts";
import { storePipeline } from "../../src/team/store/storedPipelines.ts";
import { sweepStored } from "../../src/team/store/storedRetention.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { startedServers } from "../service/startedCores.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;
const text = "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: echo hello }]\n";
const path = "pipelines/hello.yaml";

describe("the pipelines that a service of many machines keeps", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  const makeTeam = async () => Team.make(await lend());

  const kept = async ({ db }: { readonly db: Database }) => {
    const rows = db.selectFrom("pipelines").select(["project", "text"]).orderBy("project");
    return (await rows.execute()).map((row) => `${row.project}: ${row.text}`);
  };
  const ask = (team: Team, project: string) =>
    team
      .client(0)
      .start(
        { pipeline: "hello", project, definition: { path, text } },
        { idempotencyKey: crypto.randomUUID(), waitSeconds: 0 },
        never,
      );

  it("are those of runs, not of starts that are refused", async () => {
    await using team = await makeTeam();
    assert.equal((await ask(team, "shop")).kind, "started");
    assert.equal((await ask(team, "another")).kind, "refused");
    await until(async () => (await kept(team)).length > 0);
    assert.deepEqual(await kept(team), [`shop: ${text}`]);
  });

  it("are none of a start whose caller has left before the reply", async () => {
    await using servers = await startedServers(await lend(), "2026-03-04T12:00:00Z", 1);
    const asked = await servers.asked(await servers.key(), 0, { isTold: false });
    assert(asked.outcome?.kind === "started");
    servers.core.runs.withdraw(asked.outcome.run.runId);
    await servers.quiet();
    assert.deepEqual(await kept(servers), []);
  });

  it("are written only where they have changed", async () => {
    await using team = await makeTeam();
    const { db } = team;
    const row = { org_id: await team.orgId(), project: "shop", name: "hello", git_commit: null };
    const written = async (line: string) => {
      await db.transaction().execute((tx) => storePipeline(tx, row, { path, text: line }));
      const version = db.selectFrom("pipelines").select(sql<string>`xmin::text`.as("version"));
      return (await version.executeTakeFirstOrThrow()).version;
    };
    const first = await written("one");
    assert.equal(await written("one"), first);
    assert.notEqual(await written("two"), first);
  });

  it("go with the log of their last run", async () => {
    await using team = await makeTeam();
    const attempt = await ask(team, "shop");
    assert(attempt.kind === "started");
    await until(async () => (await kept(team)).length > 0);
    const { runId } = attempt.run;
    const endAt = async (id: string, at: number) => {
      await team.db.updateTable("runs").set({ stopped_at: at }).where("id", "=", id).execute();
    };
    const now = Date.now();
    const sweep = async () => {
      await sweepStored(new PostgresWriter(team.db), 30, now);
      return kept(team);
    };
    await endAt(runId, now - 31 * dayMilliseconds);
    const again = await ask(team, "shop");
    assert(again.kind === "started");
    assert.equal((await sweep()).length, 1);
    const removed = team.db.selectFrom("runs").select("id").where("files_removed_at", "is not", null);
    await until(async () => (await sweep()) && (await removed.execute()).length === 1);
    assert.equal((await kept(team)).length, 1);
    await endAt(again.run.runId, now - 31 * dayMilliseconds);
    await until(async () => (await sweep()).length === 0);
  });
});
