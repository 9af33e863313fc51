import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { sqliteAdmission } from "../../../src/service/admission/sqliteAdmission.ts";
import { databaseFile, openDatabase } from "../../../src/service/store/openDatabase.ts";
import { orgWithUsage } from "../../../src/service/store/orgs.ts";
import { endedRunsWithFiles } from "../../../src/service/store/runFiles.ts";
import { listRuns } from "../../../src/service/store/runs.ts";
import type { Database, Tables } from "../../../src/service/store/tables.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** How SQLite looks for what is asked, in a database as the service makes it. */
async function plansOf(ask: (db: Database) => Promise<unknown>): Promise<string[]> {
  const asked: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const only = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void asked.push(query),
  });
  await ask(only).catch(() => {});
  await using folder = await TemporaryFolder.make();
  await (await openDatabase(folder.path)).destroy();
  const db = new DatabaseSync(databaseFile(folder.path));
  try {
    return asked.flatMap(({ sql, parameters }) =>
      db
        .prepare(`explain query plan ${sql}`)
        .all(...parameters.map(String))
        .map(({ detail }) => String(detail)),
    );
  } finally {
    db.close();
  }
}

/** Whether it is no look-up of a run's key by its id. */
function isOfRuns(plan: string): boolean {
  return !/^CORRELATED SCALAR|^SEARCH keys USING INDEX \S+ \(id=\?\)$/.test(plan);
}

const limit = 20;
const after = "run_01jnf2q0000000000000000000";

describe("a history of any length", () => {
  const lists = {
    "the newest runs": [{}, "runs_of_org"],
    "a page anywhere": [{ after }, "runs_of_org"],
    "the runs of a day": [{ since: 1, until: 2 }, "runs_of_org"],
    "active runs": [{ status: "in-work" }, "runs_in_work"],
    "a key's active runs": [{ status: "in-work", actor: "key_1" }, "runs_in_work"],
    "a project's active runs": [{ status: "in-work", project: "shop" }, "runs_in_work"],
    "a pipeline's active runs": [{ status: "in-work", pipeline: "hello" }, "runs_in_work"],
    "runs of a status": [{ status: "lost" }, "runs_of_status"],
    "a page of the runs of a status": [{ status: "lost", after }, "runs_of_status"],
    "a key's runs": [{ actor: "key_1" }, "runs_of_actor"],
    "a project's runs": [{ project: "shop" }, "runs_of_project"],
    "a pipeline's runs": [{ pipeline: "hello" }, "runs_of_pipeline"],
  } as const;
  for (const [name, [query, index]] of Object.entries(lists)) {
    it(`is not read for ${name}: they stand together in ${index}`, async () => {
      const plans = await plansOf((db) => listRuns(db, "org_1", { ...query, limit }));
      assert.equal(plans.filter(isOfRuns).length, 1, plans.join("; "));
      assert.match(plans[0] ?? "", new RegExp(`^SEARCH runs USING INDEX ${index} \\(`));
    });
  }

  it("is not read for a page of the runs that is turned either way", async () => {
    for (const beside of [{ after }, { before: after }]) {
      const plans = await plansOf((db) => listRuns(db, "org_1", { ...beside, limit }));
      const ofRuns = plans.filter(isOfRuns);
      for (const plan of ofRuns) assert.match(plan, /^SEARCH runs USING INDEX runs_of_org \(/);
      assert.notEqual(ofRuns.length, 0);
    }
  });

  it("is not read to count a day's runs or the slots in use", async () => {
    const slots = await plansOf((db) => orgWithUsage("org_1", "2026-03-04").execute(db));
    assert(slots.includes("SEARCH runs USING COVERING INDEX runs_of_day (org_id=? AND day=?)"), slots.join());
    assert.match(slots.join(), /SEARCH runs USING (COVERING )?INDEX runs_in_work \(org_id=\?\)/);
  });

  it("is not read to find whose turn it is, nor is the queue of another org", async () => {
    const holder = "test";
    const nothing = () => {};
    const runs = {
      add: nothing,
      join: nothing,
      remove: nothing,
      withdraw: nothing,
      isWithdrawn: () => false,
    };
    const plans = await plansOf((db) => {
      const { takeOldest } = sqliteAdmission({ now: Date.now, makeId: () => "", holder, runs });
      const waiters = new Map();
      return db.transaction().execute((tx) => takeOldest({ tx, now: 0, waiters, holder }, "org_1"));
    });
    assert.match(plans.join(), /SEARCH waiters USING INDEX waiters_of_org \(org_id=\?\)/);
    for (const plan of plans) assert.doesNotMatch(plan, /^SCAN waiters|TEMP B-TREE/);
  });

  it("is not read for the runs whose files are kept, page by page", async () => {
    const plans = await plansOf((db) => endedRunsWithFiles(db, { runId: after, stoppedAt: 1 }, limit));
    assert.equal(plans.length, 1, plans.join("; "));
    assert.match(plans[0] ?? "", /^SEARCH runs USING (COVERING )?INDEX runs_with_files \(/);
  });
});
