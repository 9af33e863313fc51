import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createHttpServer } from "../../src/service/http/httpServer.ts";
import { bareApp } from "./bareApp.ts";
import { startedCore } from "./startedCore.ts";

const noon = "2026-03-04T12:00:00Z";
const largest = 100_000;
const runs = 300;
const readers = 4;

describe("readers of events that don't read", () => {
  it("make the service hold no more than one event each, and are cut off after a minute", async function () {
    this.timeout(60_000);
    await using started = await startedCore(noon);
    const { orgId, keyId, secret } = await started.key();
    const now = Date.parse(noon);
    for (let count = 1; count <= runs; count++) {
      await started.db
        .insertInto("runs")
        .values({
          id: `run_${String(count).padStart(5, "0")}`,
          ...{ org_id: orgId, project: "shop", pipeline: "hello", actor: keyId, runner: "test" },
          ...{ status: "failed", day: noon.slice(0, 10), created_at: now, stopped_at: now },
          ...{ time_limit_seconds: 30, reason: "x".repeat(largest), idempotency_key: null, changed: count },
        })
        .execute();
    }
    await started.db.updateTable("orgs").set({ sequence: runs }).execute();
    const server = createHttpServer(bareApp(started));
    const streams: ServerResponse[] = [];
    server.on("request", (_, outgoing: ServerResponse) => streams.push(outgoing));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const headers = { "x-api-key": secret, "last-event-id": "0" };
    const asked = Array.from({ length: readers }, () =>
      request({ host: "127.0.0.1", port, path: "/api/events", headers }).end(),
    );
    await Promise.all(asked.map((one) => once(one, "response")));
    // Until every line is full: what is held then is all that ever will be.
    const isFull = () => streams.every(({ writableNeedDrain }) => writableNeedDrain);
    for (let still = 0; still < 20; still = isFull() ? still + 1 : 0) await pause(10);
    for (const { writableLength } of streams) {
      assert(writableLength < 2 * largest, `${writableLength} bytes are held`);
    }
    const closed = Promise.all(streams.map((stream) => once(stream, "close")));
    for (const one of asked) one.on("error", () => {});
    started.clock.turn(60_000);
    await closed;
    assert.equal(started.core.changes.listening, 0);
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
});
