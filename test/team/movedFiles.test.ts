import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { sql } from "kysely";
import { dayMilliseconds } from "../../src/contract/limits.ts";
import type { RunnerMessage } from "../../src/contract/runners.ts";
import { toWire } from "../../src/contract/wire.ts";
import { systemClock } from "../../src/machine/clock.ts";
import type { LogReader } from "../../src/service/runs/logStore.ts";
import type { Database } from "../../src/service/store/tables.ts";
import type { Writer } from "../../src/service/store/writer.ts";
import {
  artifactKey,
  keepMoving,
  logKey,
  type MoveDeps,
  moveFiles,
  secondsUnmoved,
  settleObjectStore,
} from "../../src/team/store/movedFiles.ts";
import { ObjectStore, ObjectStoreError } from "../../src/team/store/objectStore.ts";
import { PostgresWriter } from "../../src/team/store/postgresWriter.ts";
import { liveServers } from "../../src/team/store/servers.ts";
import { putArtifactContent, storedLogs } from "../../src/team/store/storedLogs.ts";
import { sweepStored } from "../../src/team/store/storedRetention.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { forSuite } from "../forSuite.ts";
import { startedObjectStore } from "../objectStore/startedObjectStore.ts";
import { putRuns } from "../page/putRuns.ts";
import { Visitor } from "../page/visitor.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite } from "../postgres/lentDatabases.ts";
import { recordStatements } from "../postgres/recordStatements.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;
const at = "2026-01-01T00:00:00.000Z";

describe("the files of ended runs in an object store", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  const server = forSuite(startedObjectStore);

  /** A database that nobody serves, and a part of the object store that is its own. */
  async function shelf() {
    const lent = await lend();
    const { db } = lent;
    const prefix = `shelf-${randomUUID()}`;
    const store = new ObjectStore(server().settings(`s3://runs/${prefix}`), systemClock.now);
    const alive = { id: "server", alive_until: Date.now() * 2, object_store: store.name };
    await db.insertInto("servers").values(alive).execute();
    await settleObjectStore(db, store, () => {});
    await db
      .insertInto("orgs")
      .values({ id: "org_1", name: "acme", tier: "free", parallel_runs: 1, runs_per_day: 50, created_at: 0 })
      .execute();
    const deps = { ...depsOf(db, store), instance: "server" };
    return {
      db,
      store,
      deps,
      logs: storedLogs({ ...shown(db), store }),
      keys: async () =>
        (await server().keys()).flatMap((key) =>
          key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : [],
        ),
      [Symbol.asyncDispose]: () => lent[Symbol.asyncDispose](),
    };
  }

  it("are read as before from whichever server, byte for byte", async () => {
    const settings = server().settings(`s3://runs/team-${randomUUID()}`);
    await using team = await Team.make(await lend(), { objectStore: settings });
    const content = randomBytes(3_000_000);
    const runId = await runWith(team, content);
    const visitors = await Promise.all(
      team.servers.map(async (serving) => {
        const visitor = new Visitor(serving);
        await visitor.signIn(team.memberKey);
        return visitor;
      }),
    );
    const read = async () => {
      const replies: unknown[] = [];
      for (const [which, visitor] of visitors.entries()) {
        for (const path of ["log?follow=false", "log?follow=false&after=2", "log", "artifacts/0-1"]) {
          const accept = path === "log" ? "text/event-stream" : "*/*";
          const reply = await fetch(`${team.servers[which]?.url}/api/runs/${runId}/${path}`, {
            headers: { "x-api-key": team.memberKey, accept },
          });
          const { status, headers } = reply;
          replies.push([path, status, headers.get("content-length"), Buffer.from(await reply.arrayBuffer())]);
        }
        replies.push(await visitor.text(`/app/runs/${runId}/log.txt`));
        const page = await visitor.text(`/app/runs/${runId}`);
        replies.push([...page.matchAll(/line \d+ ä/g)].map(([line]) => line));
      }
      return replies;
    };
    const before = await read();
    assert.equal(before.length, 12);
    await moved(team, runId);
    assert.deepEqual(await rowsOf(team.db), { log_chunks: 0, artifact_contents: 0, moved_runs: 1 });
    assert.deepEqual(await read(), before);
    // As if an older server hadn't known of it: nothing is told that isn't so.
    const without = storedLogs(shown(team.db));
    await assert.rejects(without.reader(runId), /started without it/);
  });

  it("are gone on with where a reader was when they went, without a gap or a repeat", async () => {
    await using own = await shelf();
    const { db, deps, logs } = own;
    const lines = linesOf(5_000);
    const ids = await putEnded(db, [lines, lines, lines]);
    const begun = await Promise.all(
      ids.map(async (id, pieces) => {
        const reader = await logs.reader(id);
        const read: string[] = [];
        for (let piece = 0; piece < pieces; piece++) read.push(...((await reader.next(0))?.lines ?? []));
        return { reader, read };
      }),
    );
    assert.deepEqual(
      begun.map(({ read }) => read.length),
      [0, 320, 640],
    );
    await moveFiles(deps);
    for (const { reader, read } of begun) assert.deepEqual([...read, ...(await rest(reader, 0))], lines);
    const [runId] = ids;
    for (const after of [1, 2_500, 4_999, 5_000, 6_000]) {
      await using reader = await logs.reader(runId);
      assert.equal((await reader.next(after))?.first, after < lines.length ? after + 1 : undefined);
      assert.deepEqual(await rest(await logs.reader(runId), after), lines.slice(after));
    }
    await using early = await logs.reader("run_nowhere");
    assert.equal(await early.next(0), undefined);
  });

  it("have the same tail, also of a log that is longer", async () => {
    await using own = await shelf();
    const { db, deps, logs } = own;
    const ids = await putEnded(db, [linesOf(3), linesOf(20_000), []]);
    const tails = () => Promise.all(ids.map((id) => logs.tail(id)));
    const before = await tails();
    assert.deepEqual(
      before.map(({ isWhole }) => isWhole),
      [true, false, true],
    );
    await moveFiles(deps);
    const after = await tails();
    assert.deepEqual([after[0], after[2]], [before[0], before[2]]);
    assert.equal(after[1]?.isWhole, false);
    assert.deepEqual(after[1]?.entries, before[1]?.entries.slice(-(after[1]?.entries.length ?? 0)));
    assert((after[1]?.entries.length ?? 0) > 1_000);
  });

  it("are moved again under the same keys where a server died before it was noted", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    const lines = linesOf(100);
    const [runId] = await putEnded(db, [lines], { "0-1": Buffer.from("a picture") });
    await assert.rejects(moveFiles({ ...deps, writer: dying }), /killed/);
    assert.deepEqual(await own.keys(), [artifactKey(runId, "0-1"), logKey(runId)].sort());
    assert.deepEqual(await rowsOf(db), { log_chunks: 10, artifact_contents: 1, moved_runs: 0 });
    assert.equal(await moveFiles(deps), 1);
    assert.deepEqual(await own.keys(), [artifactKey(runId, "0-1"), logKey(runId)].sort());
    assert.deepEqual(await rest(await own.logs.reader(runId), 0), lines);
    assert.equal(await moveFiles(deps), 0);
  });

  it("leave nothing in the store where a server died before it was noted, and they got too old then", async () => {
    await using own = await shelf();
    const { db, deps, store } = own;
    const [runId] = await putEnded(db, [linesOf(10)], { "0-1": Buffer.from("a picture") });
    await assert.rejects(moveFiles({ ...deps, writer: dying }), /killed/);
    await endedAt(db, runId, Date.now() - 31 * dayMilliseconds);
    assert.equal(await moveFiles(deps), 0);
    assert.equal(await sweepStored(new PostgresWriter(db), 30, Date.now(), store), 1);
    assert.deepEqual(await own.keys(), []);
    assert.deepEqual(await rowsOf(db), { log_chunks: 0, artifact_contents: 0, moved_runs: 0 });
  });

  it("are the same where two servers move them at once, or a suspended one goes on later", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    const logsOf = Array.from({ length: 20 }, (_, index) => linesOf(index * 10 + 1));
    const ids = await putEnded(db, logsOf);
    await Promise.all([moveFiles(deps), moveFiles(deps), moveFiles(deps)]);
    for (const [at, id] of ids.entries())
      assert.deepEqual(await rest(await own.logs.reader(id), 0), logsOf[at]);
    // What comes late of a run that is over is shown to nobody, and takes nothing away.
    await db.transaction().execute((tx) => putArtifactContent(tx, ids[0] ?? "", "0-9", Buffer.from("late")));
    assert.equal(await moveFiles(deps), 1);
    assert.deepEqual(await rest(await own.logs.reader(ids[0] ?? ""), 0), logsOf[0]);
    assert.deepEqual(await rowsOf(db), { log_chunks: 0, artifact_contents: 0, moved_runs: 20 });
    assert.equal((await own.keys()).length, 20);
  });

  it("are found by the rows of one run after the other, not by all runs or chunks", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    const ids = await putEnded(
      db,
      Array.from({ length: 300 }, () => linesOf(200)),
      { "0-1": Buffer.from("a") },
    );
    const active = { stopped_at: null, slot: sql<number>`created_at` };
    await db
      .updateTable("runs")
      .set(active)
      .where("id", "<", ids[5] ?? "")
      .execute();
    await sql`analyze`.execute(db);
    using recorded = recordStatements();
    await secondsUnmoved(deps);
    const asked = [...recorded.statements].find((statement) => statement.startsWith("with recursive held"));
    const plan = await sql.raw<{ "QUERY PLAN": string }>(`explain (generic_plan) ${asked}`).execute(db);
    const steps = plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
    assert.match(steps, /Index Only Scan using log_chunks_pkey/);
    assert.doesNotMatch(steps, /Seq Scan|Hash Join|Merge Join/);
    assert.equal(await moveFiles(deps), 295);
    assert.deepEqual(await rowsOf(db), { log_chunks: 100, artifact_contents: 5, moved_runs: 295 });
    assert.equal((await own.keys()).length, 590);
    assert.deepEqual(await rest(await own.logs.reader(ids[299] ?? ""), 0), linesOf(200));
  });

  it("are read in pieces, however long a log is", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    const lines = linesOf(300_000);
    const [runId] = await putEnded(db, [lines], {}, { chunkLines: 1_000 });
    await moveFiles(deps);
    assert(
      (await server().get(`${own.store.name.split("/")[3]?.split(" ")[0]}/${logKey(runId)}`)).length >
        30_000_000,
    );
    await using reader = await own.logs.reader(runId);
    let next = 1;
    for (let piece = await reader.next(0); piece !== undefined; piece = await reader.next(0)) {
      assert.equal(piece.first, next);
      assert(piece.lines.join("\n").length <= 1024 * 1024);
      for (const line of piece.lines) assert.equal(line, lines[next++ - 1]);
    }
    assert.equal(next, lines.length + 1);
  });

  it("stay in the database while the store is away, which is said once, and are moved then", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    const clock = new FakeClock(new Date().toISOString());
    const logged: string[] = [];
    const [runId] = await putEnded(db, [linesOf(10)]);
    await endedAt(db, runId, Date.now() - 90_000);
    await server().stop();
    const stop = keepMoving({ ...deps, clock, log: (level, what) => logged.push(`${level}: ${what}`) });
    try {
      for (let round = 0; round < 3; round++) {
        await until(async () => clock.alarmsIn(5_000) === 1);
        clock.advance(5_000);
      }
      assert.deepEqual(logged, ["error: files of runs are not moved to the object store, trying again"]);
      const seconds = await secondsUnmoved(deps);
      assert(seconds >= 90 && seconds < 150, `${seconds} s`);
      assert.deepEqual(await rowsOf(db), { log_chunks: 1, artifact_contents: 0, moved_runs: 0 });
    } finally {
      await server().restart();
    }
    await until(async () => {
      clock.advance(5_000);
      return (await rowsOf(db)).moved_runs === 1;
    });
    await stop();
    assert.equal(await secondsUnmoved(deps), 0);
    assert.equal(logged[1], "info: files of runs moved to the object store");
  });

  it("are moved also behind as many that the store doesn't take, but for a store that takes nothing", async () => {
    await using own = await shelf();
    const { db, deps, store } = own;
    const ids = await putEnded(
      db,
      Array.from({ length: 20 }, () => linesOf(1)),
    );
    const asked: string[] = [];
    const refusing = (takes: (key: string) => boolean) => {
      const picky = new ObjectStore(server().settings(store.name.split(" ")[0]), systemClock.now);
      const put = picky.put.bind(picky);
      picky.put = async (key, ...rest) => {
        asked.push(key);
        if (!takes(key)) throw new ObjectStoreError("it is out of reach: Headers Timeout Error");
        await put(key, ...rest);
      };
      return { ...deps, store: picky };
    };
    await assert.rejects(moveFiles(refusing(() => false)), /Headers Timeout/);
    assert.deepEqual(asked.sort(), [...ids.slice(0, 8).map(logKey), "trial"]);
    const slow = new Set(ids.slice(0, 8).map(logKey));
    await assert.rejects(moveFiles(refusing((key) => !slow.has(key))), /Headers Timeout/);
    assert.deepEqual(await rowsOf(db), { log_chunks: 8, artifact_contents: 0, moved_runs: 12 });
  });

  it("are answered 503 with a sentence while the store is away, and then as before", async () => {
    const settings = server().settings(`s3://runs/team-${randomUUID()}`);
    await using team = await Team.make(await lend(), { objectStore: settings });
    const runId = await runWith(team, Buffer.from("a picture"));
    await moved(team, runId);
    const { url } = team.servers[0] ?? assert.fail();
    const visitor = new Visitor({ url });
    await visitor.signIn(team.memberKey);
    const headers = { "x-api-key": team.memberKey };
    const ask = async () => {
      const replies = [
        ...["log", "log?follow=false", "artifacts/0-1"].map((path) =>
          fetch(`${url}/api/runs/${runId}/${path}`, { headers }),
        ),
        ...["", "/log.txt", "/artifacts/0-1"].map((path) => visitor.get(`/app/runs/${runId}${path}`)),
      ];
      return Promise.all(
        replies.map(async (reply) => [(await reply).status, await (await reply).text()] as const),
      );
    };
    await server().stop();
    try {
      for (const [status, text] of await ask()) {
        assert.equal(status, 503, text);
        assert.match(text, /The object store with the logs and artifacts of ended runs is out of reach\./);
      }
      // All else goes on.
      assert.equal((await fetch(`${url}/readyz`)).status, 200);
      assert.match(await (await fetch(`${url}/metrics`)).text(), /^pipeline_runs_unmoved_seconds 0$/m);
      const another = await runWith(team, Buffer.from("b"));
      assert.match(await team.log(0, another), /line 1 /);
      const { url: restarted, stop } = await team.serveAt(0);
      assert.equal((await fetch(`${restarted}/readyz`)).status, 200);
      await stop();
    } finally {
      await server().restart();
    }
    for (const [status] of await ask()) assert.equal(status, 200);
  });

  it("break off where the store goes away in the middle: what is missing doesn't look like the end", async () => {
    const settings = server().settings(`s3://runs/team-${randomUUID()}`);
    await using team = await Team.make(await lend(), { objectStore: settings });
    const orgId = await team.orgId();
    const picture = randomBytes(5_000_000);
    const [runId] = await putEnded(
      team.db,
      [linesOf(200_000)],
      { "0-1": picture },
      { orgId, chunkLines: 1_000 },
    );
    await moved(team, runId);
    const logs = storedLogs({ ...shown(team.db), store: new ObjectStore(settings, systemClock.now) });
    const artifact = (await logs.openArtifact(runId, "0-1")) ?? assert.fail();
    const url = `${team.servers[0]?.url}/api/runs/${runId}/log`;
    const { body } = await fetch(url, { headers: { "x-api-key": team.memberKey } });
    const reader = body?.getReader() ?? assert.fail();
    await reader.read();
    await server().stop();
    try {
      await assert.rejects(async () => {
        for (let piece = await reader.read(); !piece.done; ) piece = await reader.read();
      });
      await assert.rejects(buffer(artifact.stream()), ObjectStoreError);
    } finally {
      await server().restart();
    }
    assert.equal(artifact.size, picture.length);
    const again = (await logs.openArtifact(runId, "0-1")) ?? assert.fail();
    assert(picture.equals(await buffer(again.stream())));
  });

  it("are said to be gone where something else has removed them from the store", async () => {
    await using own = await shelf();
    const { db, deps, store, logs } = own;
    const [runId] = await putEnded(db, [linesOf(10)], { "0-1": Buffer.from("a picture") });
    await moveFiles(deps);
    for (const key of [logKey(runId), artifactKey(runId, "0-1")]) await store.delete(key);
    const gone = { type: "not-found", message: "The log of this run is in the object store no more." };
    await assert.rejects(logs.reader(runId), gone);
    await assert.rejects(logs.tail(runId), gone);
    assert.equal(await logs.openArtifact(runId, "0-1"), undefined);
  });

  it("go with their retention: first the objects, then what is noted of them; again where that fails", async () => {
    await using own = await shelf();
    const { db, deps, store } = own;
    const ids = await putEnded(db, [linesOf(10), linesOf(20), linesOf(30)], {
      "0-1": Buffer.from("a picture"),
    });
    await moveFiles(deps);
    for (const id of ids.slice(0, 2)) await endedAt(db, id, Date.now() - 31 * dayMilliseconds);
    const used = { org_id: "org_1", digest: "old", used_at: 1 };
    await db.insertInto("snapshots").values(used).execute();
    const sweep = () => sweepStored(new PostgresWriter(db), 30, Date.now(), store);
    await server().stop();
    try {
      await assert.rejects(sweep(), /out of reach/);
    } finally {
      await server().restart();
    }
    assert.deepEqual(await rowsOf(db), { log_chunks: 0, artifact_contents: 0, moved_runs: 3 });
    // They are in no object store.
    assert.deepEqual(await db.selectFrom("snapshots").select("digest").execute(), []);
    assert.equal(await sweep(), 2);
    assert.deepEqual(await own.keys(), [artifactKey(ids[2] ?? "", "0-1"), logKey(ids[2] ?? "")].sort());
    assert.deepEqual(await rowsOf(db), { log_chunks: 0, artifact_contents: 0, moved_runs: 1 });
    assert.equal(await sweep(), 0);
  });

  it("are moved by the first of the living servers, once all of them name the same store", async () => {
    await using own = await shelf();
    const { db, deps } = own;
    await putEnded(db, [linesOf(10)]);
    assert.equal(await moveFiles({ ...deps, instance: "another" }), 0);
    const before = { id: "a server of the version before", alive_until: Date.now() * 2 };
    await db.insertInto("servers").values(before).execute();
    assert.equal(await moveFiles(deps), 0);
    await assert.rejects(
      moveFiles({ ...deps, instance: before.id }),
      /a server names another object store, or none/,
    );
    await db.updateTable("servers").set({ alive_until: 1 }).where("id", "=", before.id).execute();
    assert.equal(await moveFiles(deps), 1);
  });

  it("are in one store: a server that names another, or none, doesn't begin", async () => {
    await using own = await shelf();
    const { db, deps, store } = own;
    const other = new ObjectStore(server().settings("s3://runs/other"), systemClock.now);
    const settle = (named: ObjectStore | undefined) => settleObjectStore(db, named, () => {});
    // As long as nothing is there, it may be named anew.
    for (const named of [other, undefined, store]) await settle(named);
    await putEnded(db, [linesOf(10)]);
    assert.equal(await moveFiles(deps), 1);
    await settle(store);
    for (const [named, says] of [
      [other, /are in s3:\/\/runs\/shelf-\S+ at http:\S+; this server names s3:\/\/runs\/other at http/],
      [undefined, /are in s3:\/\/runs\/shelf-\S+ at http:\S+; this server names none\./],
    ] as const) {
      await assert.rejects(settle(named), {
        type: "conflict",
        message: says,
        next: /the same --object-store/,
      });
    }
    const wrong = new ObjectStore(server().settings("s3://missing"), systemClock.now);
    await assert.rejects(settle(wrong), {
      type: "internal",
      message: /s3:\/\/missing .* can't be used: it answers NoSuchBucket/,
    });
  });
});

/** Of a server that dies before its commit. */
const dying: Writer = { write: () => Promise.reject(new Error("killed")), close: async () => {} };

/** Shows what is there, and rings for nothing that comes. */
function shown(db: Database) {
  return { db, bus: { subscribeToAll: () => () => {} } };
}

function depsOf(db: Database, store: ObjectStore): Omit<MoveDeps, "instance"> {
  const writer = new PostgresWriter(db);
  return { db, writer, store, clock: systemClock, log: () => {}, retentionDays: 30, stopping: never };
}

function linesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify(
      toWire({ sequence: index + 1, at, stepIndex: 0, stream: "stdout", text: `line ${index + 1} ä\n` }),
    ),
  );
}

/** Ended runs with these logs, each in chunks of so many lines, and each with these artifacts. */
async function putEnded(
  db: Database,
  logs: readonly (readonly string[])[],
  files: Readonly<Record<string, Buffer>> = {},
  { orgId = "org_1", chunkLines = 10 } = {},
): Promise<string[] & { readonly 0: string }> {
  const ids = await putRuns(
    db,
    orgId,
    logs.map(({ length }, created_at) => ({ created_at, log_entries: length })),
  );
  for (const [index, id] of ids.entries()) {
    const lines = logs[index] ?? [];
    const chunks = [];
    for (let first = 0; first < lines.length; first += chunkLines)
      chunks.push({ run_id: id, first: first + 1, lines: lines.slice(first, first + chunkLines).join("\n") });
    if (chunks.length > 0) await db.insertInto("log_chunks").values(chunks).execute();
    for (const [file, content] of Object.entries(files)) {
      await db.transaction().execute((tx) => putArtifactContent(tx, id, file, content));
      const artifact = {
        run_id: id,
        position: 0,
        name: file,
        file,
        media_type: "image/png",
        bytes: content.length,
      };
      await db
        .insertInto("artifacts")
        .values({ ...artifact, created_at: 1 })
        .execute();
    }
  }
  return Object.assign(ids, { 0: ids[0] ?? "" });
}

async function endedAt(db: Database, runId: string, stopped_at: number): Promise<void> {
  await db.updateTable("runs").set({ stopped_at }).where("id", "=", runId).execute();
}

async function rowsOf(db: Database) {
  const count = async (table: "log_chunks" | "artifact_contents" | "moved_runs") => {
    const rows = db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as("count"));
    return (await rows.executeTakeFirstOrThrow()).count;
  };
  return {
    log_chunks: await count("log_chunks"),
    artifact_contents: await count("artifact_contents"),
    moved_runs: await count("moved_runs"),
  };
}

async function rest(reader: LogReader, after: number): Promise<string[]> {
  const read: string[] = [];
  for (let next = await reader.next(after); next !== undefined; next = await reader.next(after))
    read.push(...next.lines);
  return read;
}

/** A run that a runner has told, with three pieces of log and an artifact. */
async function runWith(team: Team, content: Buffer<ArrayBuffer>): Promise<string> {
  const api = team.runnerApi(0);
  const runnerId = await api.register("test", never);
  const { runId } = await team.start(0, "echo hello");
  await until(async () => (await api.work(runnerId, [], 1, never)) !== undefined);
  const run = { runId, runnerId };
  const output = (text: string) => ({ kind: "output", index: 0, at, stream: "stdout", text }) as const;
  const step = { kind: "step", index: 0, name: "echo hello", type: "cli", startedAt: at } as const;
  const file = { name: "picture.png", file: "0-1", mediaType: "image/png" };
  await api.putArtifact(run, file.file, content, never);
  const messages: readonly RunnerMessage[][] = [
    [{ ...step, status: "running" }, output("line 1 ä\n"), output("line 2 ä\n")],
    [output("line 3 ä\n"), { kind: "artifact", index: 0, at, bytes: content.length, ...file }],
    [
      output("line 4 ä\n"),
      { ...step, status: "succeeded", stoppedAt: at },
      { kind: "ended", end: { kind: "succeeded" } },
    ],
  ];
  let first = 1;
  for (const some of messages) {
    await api.sendMessages(run, first, some, never);
    first += some.length;
  }
  return runId;
}

/** Resolves once a server has moved the run's files. */
async function moved(team: Team, runId: string): Promise<void> {
  assert.equal((await liveServers(team.db)).length, 2);
  const row = team.db.selectFrom("moved_runs").select("run_id").where("run_id", "=", runId);
  await until(async () => (await row.executeTakeFirst()) !== undefined);
}
