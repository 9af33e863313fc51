import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { everyOrgName } from "../../src/contract/keys.ts";
import { largestArtifact } from "../../src/contract/limits.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { createKey, revokeKey } from "../../src/service/store/keys.ts";
import { stopRun } from "../../src/service/store/runs.ts";
import { Visitor } from "../page/visitor.ts";
import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite, type LentDatabase } from "../postgres/lentDatabases.ts";
import { until } from "../until.ts";
import { Team } from "./team.ts";

const never = new AbortController().signal;

/** An operation of the service's own description. */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly security: readonly unknown[];
}

function isOfRunners({ description }: Operation): boolean {
  return description.includes("Runners only.");
}

interface Runner {
  readonly key: string;
  readonly runnerId: string;
}

const output = { kind: "output", index: 0, at: new Date().toISOString(), stream: "stdout", text: "a lie\n" };
/** A valid body of each operation of a runner's that has one. */
const bodies: Readonly<Record<string, (runnerId: string) => unknown>> = {
  "/api/runners": () => ({ label: "one" }),
  "/api/runners/{id}/work": () => ({ runs: [] }),
  "/api/runners/{id}/heartbeat": () => ({ runs: [] }),
  "/api/runs/{id}/messages": (runnerId) => ({ "runner-id": runnerId, first: 1, messages: [output] }),
};

// What a runner's key opens, over every endpoint that the service describes: one that is added is looked at too.
describe("a runner's key", () => {
  const native = postgresFolder();
  // Where there is no PostgreSQL for the tests, there are no tests of it.
  if (native === undefined) return;
  const lend = databasesForSuite(native);
  let lent: LentDatabase;
  let team: Team;
  let operations: readonly Operation[];
  beforeEach(async () => {
    lent = await lend();
    team = await Team.make(lent);
    operations = await readOperations(url());
  });
  afterEach(() => team[Symbol.asyncDispose]());

  const url = () => team.servers[0]?.url ?? "";
  const ofRunners = () => operations.filter(isOfRunners);

  async function ask(operation: Operation, id: string, { key, runnerId }: Runner): Promise<Response> {
    const { method, path } = operation;
    const asked = path.replace("{id}", id).replaceAll(/\{\w+\}/g, "some");
    const body = bodies[path]?.(runnerId);
    return fetch(`${url()}${asked}?runner-id=${runnerId}`, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
    });
  }

  async function runner(orgName: string): Promise<Runner> {
    const key = await team.key("runner", orgName);
    return { key, runnerId: await team.runnerApi(0, key).register("one", never) };
  }

  /** Each run is offered to the runners, and what was written of that afterwards is there. */
  async function launched(): Promise<void> {
    const starting = lent.db
      .selectFrom("runs")
      .select("id")
      .where("stopped_at", "is", null)
      // A run gets a number when it is launched and, soon after its runner has it, when it is taken.
      .where(({ eb, and, or }) =>
        or([eb("launched_at", "is", null), and([eb("holder", "is not", null), eb("changed", "<", 2)])]),
      );
    await until(async () => (await starting.execute()).length === 0);
  }

  /** All that a request could have changed. */
  async function rows(): Promise<string> {
    const { db } = lent;
    await launched();
    return JSON.stringify([
      await db.selectFrom("orgs").selectAll().orderBy("id").execute(),
      await db.selectFrom("keys").selectAll().orderBy("id").execute(),
      await db.selectFrom("runs").selectAll().orderBy("id").execute(),
      await db.selectFrom("pipelines").selectAll().orderBy("name").execute(),
      await db.selectFrom("sessions").selectAll().orderBy("hash").execute(),
      await db.selectFrom("log_chunks").selectAll().orderBy("run_id").execute(),
      await db.selectFrom("snapshots").selectAll().orderBy("digest").execute(),
    ]);
  }

  it("opens nothing that isn't a runner's, be it of one org or of every org", async () => {
    const { runId } = await team.start(0, "echo hello");
    const runners = [await runner("team"), await runner(everyOrgName)];
    const before = await rows();
    const others = operations.filter((operation) => operation.security.length > 0 && !isOfRunners(operation));
    assert(others.length > 15);
    for (const operation of others) {
      for (const one of runners) {
        const reply = await ask(operation, runId, one);
        const name = `${operation.method} ${operation.path}`;
        assert.equal(reply.status, 403, name);
        assert.equal(((await reply.json()) as { error: { type: string } }).error.type, "forbidden", name);
      }
    }
    for (const { key } of runners) assert.equal((await new Visitor({ url: url() }).signIn(key)).status, 401);
    assert.equal(await rows(), before);
  });

  it("is the only one that opens what is a runner's", async () => {
    for (const role of ["owner", "member", "viewer"] as const) {
      const key = await team.key(role);
      for (const operation of ofRunners()) {
        const reply = await ask(operation, "some", { key, runnerId: "rnr_one" });
        assert.equal(reply.status, 403, `${role}: ${operation.method} ${operation.path}`);
      }
    }
  });

  it("gives its runner no name but the service's own", async () => {
    const { key } = await runner("team");
    const before = await rows();
    for (const runnerId of ["evil", "rnr_x", "rnr_evil%1b[31m", `rnr_${"x".repeat(65)}`]) {
      for (const operation of ofRunners().filter(({ path }) => path !== "/api/runners")) {
        const reply = await ask(operation, "run_some", { key, runnerId });
        assert.equal(reply.status, 400, `${runnerId}: ${operation.method} ${operation.path}`);
      }
    }
    assert.equal(await rows(), before);
  });

  it("takes only its own org's work", async () => {
    const { runId } = await team.start(0, "echo of the team");
    const other = await runner("another org");
    assert.equal(await team.runnerApi(0, other.key).work(other.runnerId, [], 0, never), undefined);
    const own = await runner("team");
    assert.equal((await team.runnerApi(0, own.key).work(own.runnerId, [], 5, never))?.runId, runId);
  });

  it("has no part in a run that its runner doesn't hold: another's, not taken, ended, or of another org", async () => {
    const holder = await runner("team");
    const liar = await runner(everyOrgName);
    const { runId: held } = await team.start(0, "echo held");
    await team.runnerApi(0, holder.key).work(holder.runnerId, [], 5, never);
    const apiKey = await team.key("member", "another org");
    const { runId: untaken } = await team.start(1, "echo untaken", { apiKey });
    const ended = await team.start(1, "echo ended", { apiKey: await team.key("member", "a third org") });
    await end(ended.runId);
    const cases: readonly (readonly [string, string, Runner])[] = [
      ["another's", held, liar],
      ["another's, with the holder's id", held, { ...liar, runnerId: holder.runnerId }],
      ["its key's, with another id", held, { ...holder, runnerId: liar.runnerId }],
      ["not taken", untaken, liar],
      ["another org's", untaken, holder],
      ["ended", ended.runId, liar],
      ["none", "run_none", liar],
    ];
    const ofRuns = ofRunners().filter(({ path }) => path.startsWith("/api/runs/{id}/"));
    assert.equal(ofRuns.length, 3);
    const before = await rows();
    for (const operation of ofRuns) {
      for (const [title, runId, who] of cases) {
        const reply = await ask(operation, runId, who);
        assert.equal(reply.status, 409, `${title}: ${operation.method} ${operation.path}`);
      }
    }
    const heartbeat = team.runnerApi(0, liar.key).heartbeat(holder.runnerId, [held, untaken], 0, never);
    assert.deepEqual(await heartbeat, { stop: [], gone: [held, untaken] });
    assert.equal(await rows(), before);
  });

  it("has an artifact's content read only of a run that its runner holds, and only up to the limit", async () => {
    const holder = await runner("team");
    const { runId } = await team.start(0, "echo held");
    await team.runnerApi(0, holder.key).work(holder.runnerId, [], 5, never);
    const announced = async ({ key, runnerId }: Runner, length: number) => {
      const asking = request(`${url()}/api/runs/${runId}/artifact-contents/0-1?runner-id=${runnerId}`, {
        method: "PUT",
        headers: { "x-api-key": key, "content-length": length },
      });
      asking.flushHeaders();
      const [reply] = (await once(asking, "response")) as [IncomingMessage];
      asking.destroy();
      return reply.statusCode;
    };
    assert.equal(await announced(await runner("team"), largestArtifact), 409);
    assert.equal(await announced(holder, largestArtifact + 1), 413);
    const whole = new Uint8Array(largestArtifact);
    await team.runnerApi(0, holder.key).putArtifact({ ...holder, runId }, "0-1", whole, never);
  });

  it("has its runner's leases renewed when a heartbeat comes, and not again while it is held", async () => {
    const { key, runnerId } = await runner("team");
    const api = team.runnerApi(0, key);
    const { runId } = await team.start(0, "echo taken");
    assert.equal((await api.work(runnerId, [], 5, never))?.runId, runId);
    const row = lent.db.selectFrom("runs").select("lease_until").where("id", "=", runId);
    const lease = async () => (await row.executeTakeFirstOrThrow()).lease_until;
    const before = await lease();
    const beat = api.heartbeat(runnerId, [runId], 1, never);
    await until(async () => (await lease()) !== before);
    const renewed = await lease();
    assert.deepEqual(await beat, { stop: [], gone: [] });
    assert.equal(await lease(), renewed);
  });

  it("opens nothing once it is revoked, and its runner's lease isn't renewed", async () => {
    const { db } = lent;
    const { keyId, orgId, secret } = await createKey(
      db,
      { orgName: "team", role: "runner" },
      { now: Date.now, makeId: idMaker(Date.now) },
    );
    const api = team.runnerApi(0, secret);
    const runnerId = await api.register("one", never);
    const { runId } = await team.start(0, "echo taken");
    assert.equal((await api.work(runnerId, [], 5, never))?.runId, runId);
    await db.transaction().execute((tx) => revokeKey(tx, { orgId, keyId }, Date.now()));
    const before = await rows();
    for (const operation of ofRunners()) {
      const reply = await ask(operation, runId, { key: secret, runnerId });
      assert.equal(reply.status, 401, `${operation.method} ${operation.path}`);
    }
    assert.equal(await rows(), before);
  });

  /** As if its runner had said so. */
  async function end(runId: string): Promise<void> {
    await launched();
    await lent.db
      .transaction()
      .execute((tx) => stopRun(tx, runId, { status: "succeeded", reason: undefined }, Date.now()));
  }
});

async function readOperations(url: string): Promise<Operation[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Omit<Operation, "method" | "path">>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}
