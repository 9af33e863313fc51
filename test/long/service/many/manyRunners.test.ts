import assert from "node:assert/strict";
import { sql } from "kysely";
import type { Database } from "../../../../src/service/store/tables.ts";
import { postgresFolder } from "../../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../../postgres/lentDatabases.ts";
import { Team } from "../../../team/team.ts";
import { until } from "../../../until.ts";

const runners = 500;
const orgs = 20;

describe("500 runners that ask at once", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native, "tables");

  it("get each run once, by few transactions and 16 connections a server", async () => {
    const lent = await lend();
    await countTakes(lent.db);
    await using team = await Team.make(lent);
    const keys: string[] = [];
    for (let org = 0; org < orgs; org++) keys.push(await team.key("member", `org ${org}`));
    const leaving = new AbortController();
    const given: string[] = [];
    const asking = Array.from({ length: runners }, async (_, runner) => {
      const api = team.runnerApi(runner % 2);
      const work = await api.work(`rnr_idle_runner_${runner}`, [], 30, leaving.signal).catch(() => undefined);
      if (work !== undefined) given.push(work.runId);
    });
    // Each has asked once when it came.
    await until(async () => (await takes(lent.db)) === runners);
    const runs = await Promise.all(
      keys.map((key, org) => team.start(org % 2, "echo hello", { apiKey: key })),
    );
    await until(async () => given.length === orgs);
    const asked = (await takes(lent.db)) - runners;
    assert.deepEqual(given.sort(), runs.map(({ runId }) => runId).sort());
    assert.ok(asked < 3 * orgs, `${asked} transactions for ${orgs} runs`);
    for (const { url } of team.servers) {
      const [, connections] =
        /^pipeline_runs_pool_connections (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text()) ?? [];
      assert.ok(Number(connections) <= 16, `${connections} connections`);
    }
    leaving.abort();
    await Promise.all(asking);
  });
});

/** Counts the transactions that ask for work, also those that get none. */
async function countTakes(db: Database): Promise<void> {
  await sql`
    create sequence takes;
    create function note_take() returns trigger language plpgsql as $$ begin
      if current_query() like '%skip locked%' then perform nextval('takes'); end if;
      return null;
    end $$;
    create trigger note_take after update on runs for each statement execute function note_take();`.execute(
    db,
  );
}

async function takes(db: Database): Promise<number> {
  const { rows } = await sql<{ takes: number }>`
    select case when is_called then last_value else 0 end as takes from takes`.execute(db);
  return rows[0]?.takes ?? 0;
}
