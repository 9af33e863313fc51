import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { everyOrgName } from "../../../src/contract/keys.ts";
import { dayMilliseconds } from "../../../src/contract/limits.ts";
import type { RunnerMessage } from "../../../src/contract/runners.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { removeWaiter } from "../../../src/service/admission/queue.ts";
import { revokedAmong } from "../../../src/service/store/keys.ts";
import { claimRuns } from "../../../src/team/admission/postgresAdmission.ts";
import { moveFiles, settleObjectStore } from "../../../src/team/store/movedFiles.ts";
import { ObjectStore } from "../../../src/team/store/objectStore.ts";
import { PostgresWriter } from "../../../src/team/store/postgresWriter.ts";
import { liveServers, sweepServers } from "../../../src/team/store/servers.ts";
import { sweepStored } from "../../../src/team/store/storedRetention.ts";
import { endOverdue, overdueRuns, shortenLeases } from "../../../src/team/store/work.ts";
import { startedObjectStore } from "../../objectStore/startedObjectStore.ts";
import { Visitor } from "../../page/visitor.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { recordStatements } from "../../postgres/recordStatements.ts";
import { openStream } from "../../service/openStream.ts";
import { until } from "../../until.ts";
import { Team } from "../team.ts";

const never = new AbortController().signal;

/** What is no statement on an org's rows. */
const ofNoOrg = [
  /^(begin|commit|rollback|select 1|savepoint|set |listen )/,
  /^select pg_(notify|try_advisory_xact_lock|advisory_xact_lock)\(/,
  /^select 'ticket_' \|\| lpad\(nextval\('tickets'\)/,
  /^select \(extract\(epoch from clock_timestamp\(\)\) \* 1000\)::bigint as now$/,
  /^insert into servers /,
  /^update "?servers"? set /,
  /^delete from servers /,
  /^select "id", "object_store" from "servers" /,
  /^(select "name" from|insert into) "?object_store\b/,
];

/**
 * What is on the rows of all orgs of a database: the servers do it by themselves, for the runs and the waiters of whatever org,
 * or a runner that works for every org. Behind each is how docs/scale.md names it. A database that is divided by org needs each
 * of them once for each part.
 */
const ofAllOrgs: readonly (readonly [statement: RegExp, named: string])[] = [
  [/^update runs set holder = \$1, runner = \$2/, "a runner takes a run"],
  [/^update runs set lease_until = .* where holder = \$2 .* id = any\(/, "a heartbeat"],
  [/^with claimed as /, "a server claims the runs that others have granted to its waiters"],
  [/^select "ticket" from "waiters" where "holder" = \$1/, "a server looks after its waiters"],
  [
    /^select id from orgs where id in \(select org_id from waiters where holder = /,
    "a server looks after its waiters",
  ],
  [/^delete from waiters where holder not in /, "the waiters of dead servers are removed"],
  [/^select id, org_id from runs where stopped_at is null and \(case /, "overdue runs are looked for"],
  [/^update runs set lease_until = .* where stopped_at is null and lease_until > /, "leases are shortened"],
  [/^select "id" from "runs" where "files_removed_at" is null /, "old files are looked for"],
  [/^delete from snapshots where \(org_id, digest\) in /, "old snapshots are removed"],
  [/^with recursive held /, "runs whose files are to be moved are looked for"],
  [
    /^select count\(\*\) as "count" from "runs" where "stopped_at" is null/,
    "active runs are counted for the metrics",
  ],
  [/^select "id" from "keys" where .*"revoked_at" is not null/, "revoked keys are looked for"],
  [/^select "id", "sequence" from "orgs" where "id" in /, "changes that nobody has rung for are looked for"],
];

/**
 * By the id of one row, which is an org's: the request has found the row by its org before, or finds the org by it. Where the
 * database is divided by org, whoever asks has to know the part, as a balancer by org does.
 */
const byRow: readonly (readonly [statement: RegExp, named: string])[] = [
  [
    / "?(runs|steps|log_chunks|artifacts|artifact_contents|moved_runs)"? .*where "?(id|run_id)"? (=|in) \(?\$/,
    "a run by its id",
  ],
  [/^insert into "(steps|log_chunks|artifacts|artifact_contents)" \("run_id"/, "a run by its id"],
  [/^insert into moved_runs .* where runs.id = \$1 /, "a run by its id"],
  [
    /^update orgs set sequence = sequence \+ 1 where id = \(select org_id from runs where id = \$1\)/,
    "a run by its id",
  ],
  [/ from "runs" where "actor" = \$1 and "idempotency_key" = \$2/, "a start by its key and Idempotency-Key"],
  [/ "?waiters"? .*where "?ticket"? = \$1/, "a waiter by its ticket"],
  [/ "keys" (set .*)?where "id" = \$/, "a key by its id"],
  [
    / "sessions" .*("hash" (= |in \()\$|"key_id" = \$|\("hash", "key_id")/,
    "a session of the page by its secret",
  ],
  [/ from "orgs" where ("name" != \$1 and )?"name" = \$/, "an org by its name"],
];

/** The org's id is in the condition, or in the row that is written. */
const byOrg = [
  /\borg_id"? = \$\d+/,
  /^insert into "?\w+"? \([^)]*\borg_id\b/,
  /^insert into "orgs" /,
  /"?orgs"? .*where (orgs\.)?"?id"? = \$\d+/,
];

function kindOf(statement: string): string | undefined {
  const named = (list: typeof byRow) => list.find(([pattern]) => pattern.test(statement))?.[1];
  if (ofNoOrg.some((pattern) => pattern.test(statement))) return "of no org";
  return named(ofAllOrgs) ?? (byOrg.some((pattern) => pattern.test(statement)) ? "by org" : named(byRow));
}

const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

describe("the statements of the service on PostgreSQL", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  it("are by org or on a row of one, but for those that docs/scale.md lists", async () => {
    await using objects = await startedObjectStore(AbortSignal.timeout(110_000));
    const store = new ObjectStore(objects.settings(), systemClock.now);
    await using team = await Team.make(await lend(), { objectStore: objects.settings() });
    using recorded = recordStatements();
    await askEverything(team);
    await doByItself(team, store);
    const kinds = [...recorded.statements].map((statement) => [statement, kindOf(statement)] as const);
    assert.deepEqual(
      kinds.filter(([, kind]) => kind === undefined).map(([statement]) => statement),
      [],
    );
    const docs = await readFile(join(projectRoot, "docs/scale.md"), "utf8");
    const named = new Set([...ofAllOrgs, ...byRow].map(([, name]) => name));
    const used = new Set(kinds.map(([, kind]) => kind));
    for (const name of named) {
      assert(used.has(name), `no statement is: ${name}`);
      assert(docs.includes(name), `docs/scale.md doesn't say: ${name}`);
    }
  });

  it("are not taken for by org where the org is only read, or all of them are", () => {
    assert.equal(kindOf('select "id" from "runs" where "status" = $1'), undefined);
    assert.equal(kindOf('select "org_id" from "runs" where "status" = $1'), undefined);
    assert.equal(kindOf('update "runs" set "status" = $1 where "stopped_at" is null'), undefined);
    assert.equal(kindOf('select "id" from "runs" where "org_id" = $1'), "by org");
  });
});

const text = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";
const startedAt = "2026-01-01T00:00:00.000Z";
const step = { kind: "step", index: 0, name: "echo hello", type: "cli", startedAt } as const;
const file = "report.txt";
const messages: readonly RunnerMessage[] = [
  { kind: "pipeline", path: "pipelines/hello.yaml", texts: { "pipelines/hello.yaml": text } },
  { kind: "inputs", inputs: { region: "eu" } },
  { ...step, status: "running" },
  { kind: "output", index: 0, at: startedAt, stream: "stdout", text: "hello\n" },
  { kind: "artifact", index: 0, at: startedAt, name: file, file, mediaType: "text/plain", bytes: 5 },
  { kind: "outputs", outputs: { url: "x" } },
  { ...step, status: "succeeded", stoppedAt: startedAt },
  { kind: "ended", end: { kind: "succeeded" } },
];

/** Asks every endpoint that the service has, and each page. */
async function askEverything(team: Team): Promise<void> {
  const asked = new Set<string>();
  const url = team.servers[0]?.url ?? "";
  const owner = await team.key("owner");
  const ask = async (
    endpoint: string,
    parts: readonly string[] = [],
    init: RequestInit = {},
    key = owner,
  ) => {
    asked.add(endpoint);
    const [method = "", template = ""] = endpoint.split(" ");
    let at = 0;
    const path = template.replaceAll(/\{\w+\}/g, () => parts[at++] ?? "");
    const reply = await fetch(`${url}${path}${parts[at] ?? ""}`, {
      method: method.toUpperCase(),
      ...init,
      headers: { "x-api-key": key, ...init.headers },
    });
    return { status: reply.status, body: await reply.text() };
  };
  const good = async (...args: Parameters<typeof ask>) => {
    const reply = await ask(...args);
    assert(reply.status < 300, `${args[0]}: ${reply.status} ${reply.body}`);
    return JSON.parse(reply.body || "{}");
  };
  for (const endpoint of ["get /healthz", "get /readyz", "get /metrics"]) await ask(endpoint);
  const files = new Uint8Array([1, 2, 3]);
  const digest = createHash("sha256").update(files).digest("hex");
  await ask("get /api/snapshots/{digest}", [digest]);
  await good("put /api/snapshots/{digest}", [digest], { body: files });
  await good("get /api/snapshots/{digest}", [digest]);
  const startHeaders = { "idempotency-key": "first" };
  const definition = { path: "pipelines/hello.yaml", text, snapshot: digest };
  const body = JSON.stringify({ pipeline: "hello", project: "shop", definition });
  const { "run-id": runId } = await good("post /api/runs", [], { headers: startHeaders, body });
  // Again, as after a lost reply; and one that gets no slot.
  await good("post /api/runs", [], { headers: startHeaders, body });
  await using queue = await openStream(`${url}/api/queue`, {
    "x-api-key": owner,
    "idempotency-key": "second",
  });
  asked.add("get /api/queue");
  await using events = await openStream(`${url}/api/events`, { "x-api-key": owner });
  asked.add("get /api/events");
  const waiting = ask("post /api/runs", [], {
    headers: { "idempotency-key": "second", prefer: "wait=60" },
    body,
  });
  await actAsRunner(team, { asked, runId, digest });
  await waiting;
  for (const what of [
    "",
    "?status=in-work",
    "?actor=a&project=shop&pipeline=hello&input=region%3Deu",
    "?since=2026-01-01T00:00:00Z",
  ])
    await good("get /api/runs", [what]);
  await good("get /api/runs/{id}", [runId]);
  await ask("get /api/runs/{id}/log", [runId, "?follow=false"]);
  await ask("get /api/runs/{id}/artifacts/{file}", [runId, file]);
  await good("get /api/runs/{id}/pipeline", [runId]);
  await good("get /api/runs/{id}/changes", [runId]);
  await good("get /api/org");
  await good("get /api/pipelines");
  await ask("get /api/projects");
  await ask("put /api/projects/{name}", ["shop"], { body: "{}" });
  await ask("delete /api/projects/{name}", ["shop"]);
  const { "key-id": keyId } = await good("post /api/keys", [], { body: JSON.stringify({ role: "member" }) });
  await good("get /api/keys");
  await good("post /api/keys/{id}/revoke", [keyId]);
  for (const last of ["hand-over", "stop"]) await ask(`post /api/service/${last}`);
  await ask("get /api/service");
  await askPages(url, owner, runId);
  await good("post /api/sign-in-links");
  await good("post /api/runs/{id}/cancel", [runId]);
  for (const stream of [queue, events]) stream.leave();
  const { paths } = documentSchema.parse(await good("get /openapi.json"));
  const endpoints = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(
    endpoints.filter((endpoint) => !asked.has(endpoint)),
    [],
  );
}

async function actAsRunner(
  team: Team,
  { asked, runId, digest }: { asked: Set<string>; runId: string; digest: string },
): Promise<void> {
  const api = team.runnerApi(0, await team.key("runner", everyOrgName));
  const runnerId = await api.register("test", never);
  await until(async () => (await api.work(runnerId, [], 1, never)) !== undefined);
  const run = { runId, runnerId };
  await api.heartbeat(runnerId, [runId], 0, never);
  await api.snapshot(run, digest, never);
  await api.putArtifact(run, file, new Uint8Array([1, 2, 3, 4, 5]), never);
  await api.sendMessages(run, 1, messages, never);
  for (const path of ["/work", "/heartbeat"]) asked.add(`post /api/runners/{id}${path}`);
  for (const endpoint of ["post /api/runners", "get /api/runs/{id}/snapshot", "post /api/runs/{id}/messages"])
    asked.add(endpoint);
  asked.add("put /api/runs/{id}/artifact-contents/{file}");
}

async function askPages(url: string, secret: string, runId: string): Promise<void> {
  const visitor = new Visitor({ url });
  await visitor.signIn(secret);
  const pages = [
    "/app/runs",
    "/app/runs?status=in-work&pipeline=hello",
    `/app/runs/${runId}`,
    `/app/runs/${runId}/log.txt`,
    `/app/runs/${runId}/pipeline.txt`,
    `/app/runs/${runId}/artifacts/${file}`,
    `/app/runs/${runId}/again`,
    "/app/pipelines",
    "/app/pipelines/start?pipeline=hello&project=shop",
    "/app/what-counts",
  ];
  for (const page of pages) assert((await visitor.get(page)).status < 400, page);
  await using stream = await openStream(`${url}/app/events?run=${runId}`, { cookie: visitor.cookie ?? "" });
  await visitor.post(`/app/runs/${runId}/again`, { request: "third" });
  await visitor.post("/app/runs/cancel-mine", {});
  await visitor.post(`/app/runs/${runId}/cancel`, {});
  await visitor.post("/app/sign-out", {});
  stream.leave();
}

/** What servers do without a request, each once whatever the time. */
async function doByItself({ db }: Team, store: ObjectStore): Promise<void> {
  await sweepServers(db);
  await shortenLeases(db);
  await revokedAmong(db, ["key_nobody"]);
  await db.transaction().execute((tx) => removeWaiter(tx, "ticket_nowhere"));
  await claimRuns(db, "nobody", "2026-01-01");
  const writer = new PostgresWriter(db);
  const deps = { db, writer, store, clock: systemClock, log: () => {}, retentionDays: 30, stopping: never };
  for (const { id } of await liveServers(db)) await moveFiles({ ...deps, instance: id });
  await settleObjectStore(db, store, () => {});
  await sweepStored(writer, 30, systemClock.now() + 31 * dayMilliseconds, store);
  await overdueRuns(db);
  await db.transaction().execute((tx) => endOverdue(tx, "run_nowhere", systemClock.now()));
}
