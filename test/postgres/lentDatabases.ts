import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import type { Database } from "../../src/service/store/tables.ts";
import { openPostgres } from "../../src/team/store/openPostgres.ts";
import { clockOffVariable } from "../clock/preload.ts";
import { startedPostgres } from "./startedPostgres.ts";

/** A migrated database without rows, for one test. */
export interface LentDatabase extends AsyncDisposable {
  readonly url: string;
  /** Beside the service, on connections of its own. */
  readonly db: Database;
}

/** In the environment of tests: the URL of a PostgreSQL server that is there for all of them, without a database. */
export const postgresVariable = "PIPELINE_RUNS_TEST_POSTGRES";

/** Where the tests live at another time of day, so does the database. */
const off = Number(process.env[clockOffVariable] ?? 0);

/**
 * As the functions of these names in PostgreSQL, but a test may set what they tell. Connections find them first. A server
 * that has just been started takes nobody for dead, so here it was started long ago.
 */
const clock = `
  create table test_clock (at timestamptz, started timestamptz);
  insert into test_clock values (null, '2000-01-01');
  create function public.clock_timestamp() returns timestamptz language sql volatile
    as $$select coalesce(at, pg_catalog.clock_timestamp() + interval '${off} milliseconds') from public.test_clock$$;
  create function public.pg_postmaster_start_time() returns timestamptz language sql volatile
    as 'select started from public.test_clock';`;
const searchPath = `options=${encodeURIComponent("-c search_path=public,pg_catalog")}`;

/** Sets the database's time of day, or when it was started, in milliseconds since 1970. */
export async function setDatabaseClock(
  db: Database,
  set: { readonly at?: number; readonly started?: number },
): Promise<void> {
  for (const [column, time] of Object.entries(set)) {
    await sql`update test_clock set ${sql.ref(column)} = to_timestamp(${time} / 1000.0)`.execute(db);
  }
}

/** Deletes all rows. Of a small table it takes a tenth of the time of truncating it. */
const empty = `do $$ declare name regclass; begin
  set local session_replication_role = replica;
  for name in select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname not in ('schema_version', 'test_clock')
  loop
    execute format(case when pg_table_size(name) > 1e6 then 'truncate %s cascade' else 'delete from %s' end, name);
  end loop;
  update test_clock set at = null, started = '2000-01-01';
end $$`;

type Free = Omit<LentDatabase, typeof Symbol.asyncDispose>;

/** What this process may lend again, also to its other suites, on the server that is there for all. */
const kept: Free[] = [];

/** Databases for the tests of a suite, which are used again; only in this suite if it changes their tables. */
export function databasesForSuite(
  native: string,
  changes: "rows" | "tables" = "rows",
): () => Promise<LentDatabase> {
  const cleanUp = new AsyncDisposableStack();
  let server = process.env[postgresVariable] ?? "";
  const isKept = server !== "" && changes === "rows";
  const free = isKept ? kept : [];
  before(async function () {
    // The first time it comes from npm.
    this.timeout(300_000);
    if (server !== "") return;
    server = cleanUp.use(await startedPostgres(native, AbortSignal.timeout(290_000))).server;
  });
  after(() => cleanUp.disposeAsync());
  const make = async () => {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await inPostgres(server, `create database ${name}`);
    if (!isKept) cleanUp.defer(() => inPostgres(server, `drop database ${name} with (force)`));
    const url = `${server}${name}?${searchPath}`;
    const { db } = await openPostgres(url, () => {});
    if (!isKept) cleanUp.defer(() => db.destroy());
    await sql.raw(clock).execute(db);
    // Runs that a test puts there as on SQLite, which has no such columns.
    await sql`alter table runs alter slot set default 1, alter work set default '{}'`.execute(db);
    return { url, db };
  };
  return async () => {
    const lent = free.pop() ?? (await make());
    return {
      ...lent,
      async [Symbol.asyncDispose]() {
        await sql.raw(empty).execute(lent.db);
        free.push(lent);
      },
    };
  };
}

async function inPostgres(server: string, command: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}postgres` });
  await client.connect();
  await client.query(command);
  await client.end();
}
