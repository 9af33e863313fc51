import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { Transform } from "node:stream";
import { type RawBuilder, sql } from "kysely";
import { PipelineError } from "../../../src/contract/errors.ts";
import { asUnavailable } from "../../../src/team/serveDatabase.ts";
import { openPostgres, unusable } from "../../../src/team/store/openPostgres.ts";
import { certificate } from "../../certificate.ts";
import { forSuite } from "../../forSuite.ts";
import { Listening } from "../../listening.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { startedPostgres } from "../../postgres/startedPostgres.ts";
import { Shared } from "../../service/serviceOn.ts";
import { until } from "../../until.ts";

describe("a connection to PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);

  it("asks for nothing at its start that a pooler refuses", async () => {
    await using lent = await lend();
    const starts: string[] = [];
    await using pooler = await relay(lent.url, (text, isFirst) => {
      if (isFirst) starts.push(text);
      return text;
    });
    const { db } = await openPostgres(pooler.url, () => {});
    const setting = async (name: string) =>
      (await sql<{ value: string }>`select current_setting(${name}) as value`.execute(db)).rows[0]?.value;
    assert.equal(await setting("idle_in_transaction_session_timeout"), "2s");
    assert.equal(await setting("lock_timeout"), "4s");
    assert.equal(await setting("statement_timeout"), "14s");
    await db.destroy();
    assert(starts.length > 2);
    for (const text of starts) {
      const names = text
        .slice(8)
        .split("\0")
        .filter((_, at) => at % 2 === 0);
      // The search path is the tests' own.
      const taken = ["user", "database", "application_name", "client_encoding", "options", ""];
      for (const name of names) assert(taken.includes(name), name);
    }
  });

  it("is refused where something in front of the database hands it on to others", async () => {
    await using lent = await lend();
    // What is to be told is told to somebody else.
    await using pooler = await relay(lent.url, (text) => text.replace(/notify "./, 'notify "_'));
    await assert.rejects(
      openPostgres(pooler.url, () => {}),
      /LISTEN has no effect through what is in front of the database/,
    );
  });

  it("leaves nothing in the database that waits for somebody else's lock", async () => {
    await using lent = await lend();
    const { db } = await openPostgres(lent.url, () => {});
    const waiting = sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await lent.db.transaction().execute(async (tx) => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx);
      await sql`lock table runs`.execute(tx);
      const asked = await Promise.allSettled(
        Array.from({ length: 30 }, () => db.selectFrom("runs").select("id").execute()),
      );
      const problems = asked.map(
        (one) =>
          one.status === "rejected" && asUnavailable(one.reason, new AbortController().signal)?.message,
      );
      assert.match(String(problems[0]), /^The database doesn't answer/);
      assert(problems.every((problem) => typeof problem === "string"));
      await until(async () => (await waiting.execute(tx)).rows[0]?.count === 0);
    });
    assert.deepEqual(await db.selectFrom("runs").select("id").execute(), []);
    await db.destroy();
  });

  it("is made anew once the database takes no writes, as when another has taken its place", async () => {
    await using lent = await lend();
    const { db, pool } = await openPostgres(lent.url, () => {});
    const act = (statement: RawBuilder<unknown>) => statement.execute(db);
    await act(sql`set default_transaction_read_only = on`);
    const write = () => act(sql`update schema_version set version = version where ${true}`);
    await assert.rejects(write(), /read-only/);
    await write();
    assert.equal(pool.totalCount, 1);
    await db.destroy();
  });

  it("tells of somebody else's lock in whatever language the database speaks", () => {
    const german = "storniere Anfrage wegen Zeitüberschreitung bei Sperre";
    assert.throws(() => unusable(Object.assign(new Error(german), { code: "55P03" })), {
      next: /such as a backup/,
    });
  });

  it("isn't made to a database that takes no writes", async () => {
    await using lent = await lend();
    const readOnly = `${lent.url}%20-c%20default_transaction_read_only%3Don`;
    await assert.rejects(
      openPostgres(readOnly, () => {}),
      /The database can't be used: the database is read-only/,
    );
  });
});

describe("the URL of a PostgreSQL database", () => {
  const native = postgresFolder();
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  const tls = certificate({ host: "localhost", isAuthority: true });
  let authority = "";
  const server = forSuite(async (signal) => {
    const started = await startedPostgres(native, signal, { tls });
    authority = join(started.folder, "authority.pem");
    await writeFile(authority, tls.cert);
    return started;
  });
  const opened = async (url: string) => (await openPostgres(url, () => {})).db.destroy();
  /** Of the server with TLS. */
  const address = (query: string) => {
    const url = new URL(`${server().server}postgres?${query}`);
    url.hostname = "localhost";
    return url.href;
  };

  it("means with its `sslmode` what it means to PostgreSQL's own programs", async () => {
    await opened(address("sslmode=require"));
    await opened(address("sslmode=disable"));
    await opened(address(`sslmode=verify-full&sslrootcert=${authority}`));
    await assert.rejects(
      opened(address("sslmode=verify-full")),
      (error) => error instanceof PipelineError && /sslrootcert=/.test(error.next ?? ""),
    );
  });

  it("may have its parts in its query, for a server too", async () => {
    await using lent = await lend();
    const { username, password, hostname, port, pathname, searchParams } = new URL(lent.url);
    searchParams.set("host", hostname);
    searchParams.set("port", port);
    const url = `postgres://${username}:${password}@${pathname}?${searchParams}`;
    await using shared = new Shared({ ...lent, url });
    const serving = await shared.serveAt(0);
    assert.equal((await fetch(`${serving.url}/readyz`)).status, 200);
    await serving.stop();
  });

  it("says what to do where it can't be used", async () => {
    const advised = async (url: string) => {
      const error: unknown = await opened(url).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert(error instanceof PipelineError);
      return error.next;
    };
    const { host } = new URL(server().server);
    assert.match((await advised(`postgres://app:a/b@${host}/postgres`)) ?? "", /percent-encode/);
    assert.match((await advised(`postgres://app:secret@${host},${host}/postgres`)) ?? "", /Name one host/);
    assert.match((await advised(`postgres://app@${host}/postgres`)) ?? "", /PGPASSWORD/);
    await using lent = await lend();
    assert.match((await advised(`${lent.url}&sslmode=prefer`)) ?? "", /sslmode=disable/);
    assert.match((await advised(`mysql://app@${host}/postgres`)) ?? "", /begins with postgres:/);
  });
});

/** What stands in front of a database. @param change of what is sent to it, as Latin-1. */
async function relay(url: string, change: (text: string, isFirst: boolean) => string) {
  const { hostname, port } = new URL(url);
  const listening = await Listening.of((near) => {
    const far = connect(Number(port), hostname);
    let isFirst = true;
    const changing = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        done(null, Buffer.from(change(chunk.toString("latin1"), isFirst), "latin1"));
        isFirst = false;
      },
    });
    far.on("error", () => near.destroy()).once("close", () => near.destroy());
    near.once("close", () => far.destroy());
    near.pipe(changing).pipe(far).pipe(near);
  });
  const through = new URL(url);
  through.host = listening.host;
  return Object.assign(listening, { url: through.href });
}
