import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { createHttpServer } from "../../../src/service/http/httpServer.ts";
import { bareApp } from "../bareApp.ts";
import { openStream } from "../openStream.ts";
import { hasStarted, quiet, startedCore } from "../startedCore.ts";

const noon = "2026-03-04T12:00:00Z";

type StartedCore = Awaited<ReturnType<typeof startedCore>>;

/** The service over HTTP, with one active run, on a database that the test may keep from being written. */
async function serving(started: StartedCore) {
  const key = await started.key();
  const headers = { "x-api-key": key.secret };
  const asked = started.ask(key, 0);
  await quiet();
  assert(asked.outcome?.kind === "started");
  const { runId } = asked.outcome.run;
  const server = createHttpServer(bareApp(started));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const json = async (path: string, method = "GET") => {
    const reply = await fetch(`${url}${path}`, { headers, method });
    return { status: reply.status, body: JSON.parse(await reply.text()) };
  };
  return {
    key,
    runId,
    async cancel() {
      const cancelled = json(`/api/runs/${runId}/cancel`, "POST");
      while (started.jobs.get(runId)?.stopped === false) await turn();
      return whileTimePasses(started, cancelled);
    },
    run: async () => (await json(`/api/runs/${runId}`)).body,
    events: () => openStream(`${url}/api/events`, headers),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

const faults = {
  "that can't be written": {
    begin: ({ core }: StartedCore) => sql`pragma query_only = on`.execute(core.db),
    end: ({ core }: StartedCore) => sql`pragma query_only = off`.execute(core.db),
  },
  "that another program holds": {
    begin: ({ db }: StartedCore) => sql`begin immediate`.execute(db),
    end: ({ db }: StartedCore) => sql`rollback`.execute(db),
  },
};

/** Lets up to 10 s pass: the service asks a database that is held for 5 s, and then again after some more. */
async function whileTimePasses<T>({ clock }: StartedCore, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  for (let time = 0; time < 200 && !isSettled; time++) {
    clock.advance(50);
    await quiet();
  }
  return settled;
}

describe("cancelling a run", () => {
  for (const [name, fault] of Object.entries(faults)) {
    it(`in a database ${name} is done, and who asked for it is told that it is being cancelled`, async () => {
      await using started = await startedCore(noon);
      await using service = await serving(started);
      const { runId } = service;
      await using before = await service.events();
      await before.events.untilOne(({ data }) => data["status"] === "running");
      const waiter = started.ask(service.key, 120);
      await quiet();
      await fault.begin(started);
      const isCancelling = { status: 200, body: { "run-id": runId, status: "cancelling" } };
      const toldOnce = async () => {
        const { status, body } = await service.cancel();
        const { warning, ...rest } = body;
        assert.match(warning, /can't be written now: should the service die/);
        return { status, body: rest };
      };
      assert.deepEqual(await toldOnce(), isCancelling);
      assert.equal(started.jobs.get(runId)?.stopped, true);
      assert.equal((await service.run()).status, "running");
      assert.deepEqual(await toldOnce(), isCancelling);
      assert(!hasStarted(waiter));

      started.jobs.get(runId)?.end();
      await quiet();
      await fault.end(started);
      await whileTimePasses(
        started,
        before.events.untilOne(({ data }) => data["status"] === "cancelled"),
      );
      const { status, reason } = await service.run();
      assert.deepEqual([status, reason], ["cancelled", `cancelled by ${service.key.keyId}`]);
      await quiet();
      assert(hasStarted(waiter));
    });

    it(`in a database ${name} leaves the recovery of a service that is killed then nothing wrong`, async () => {
      await using started = await startedCore(noon);
      await using service = await serving(started);
      await fault.begin(started);
      assert.equal((await service.cancel()).status, 200);
      await started.crash();
      if (name === "that another program holds") await fault.end(started);
      await started.start();
      await quiet();
      assert.deepEqual(
        (await started.rows()).map(({ status }) => status),
        ["lost"],
      );
      assert.equal(await started.used(service.key), 1);
      const next = started.ask(service.key, 0);
      await quiet();
      assert(hasStarted(next));
    });
  }

  it("that nobody holds is an error where it can't be written: nobody would end it", async () => {
    await using started = await startedCore(noon);
    await using service = await serving(started);
    const { runId } = service;
    await started.db
      .insertInto("runs")
      .values({
        ...{ id: `${runId}0`, org_id: service.key.orgId, project: "shop", pipeline: "hello" },
        ...{ actor: service.key.keyId, runner: "test", status: "running", day: noon.slice(0, 10) },
        ...{ created_at: Date.parse(noon), time_limit_seconds: 30, changed: 1 },
      })
      .execute();
    await faults["that can't be written"].begin(started);
    await assert.rejects(started.core.runs.cancel(service.key.orgId, `${runId}0`, service.key.keyId), {
      type: "internal",
    });
  });
});
