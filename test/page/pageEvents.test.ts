import assert from "node:assert/strict";
import { Hono } from "hono";
import type { SignedIn } from "../../src/service/http/authenticate.ts";
import { OpenReplies, OpenReply } from "../../src/service/http/openReplies.ts";
import { OrgEvents } from "../../src/service/http/orgEvents.ts";

import { pageEvents } from "../../src/service/page/pageRoutes.ts";
import { RunLogs } from "../../src/service/runs/runLogs.ts";
import { createSession } from "../../src/service/store/sessions.ts";
import { quiet, startedCore } from "../service/startedCore.ts";

/** The page's stream of events for one run, read piece by piece, as slowly as a test wants. */
async function openPageEvents() {
  const core = await startedCore("2026-03-01T10:00:00Z");
  const { clock, folder } = core;
  const { db, writer, bus, runs, admission } = core.core;
  const { orgId, keyId } = await core.key();
  const session = await writer.write((tx) => createSession(tx, keyId, clock.now()));
  const log = () => {};
  const logs = new RunLogs({ folder, log, now: clock.now });
  const cookie = { read: () => session, keep: () => {}, forget: () => {} };
  const app = new Hono<SignedIn>();
  app.get("/app/events", (context) => {
    context.set("caller", { orgId, keyId, role: "member" });
    context.set("open", new OpenReply(context.env.outgoing));
    const replies = new OpenReplies();
    const deps = { db, clock, bus, runs, log, admission };
    return pageEvents(context, { ...deps, cookie, logs, replies, events: new OrgEvents(deps) });
  });
  const broken: string[] = [];
  const outgoing = { destroy: () => broken.push("broken off") };
  const response = await app.request("/app/events?run=run_1", {}, { outgoing });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("the stream has no body");
  return {
    db,
    logs,
    bus,
    broken,
    change: () => bus.emit(orgId, { kind: "org" }),
    next: async () => new TextDecoder().decode((await reader.read()).value),
    async [Symbol.asyncDispose]() {
      await reader.cancel().catch(() => {});
      await core[Symbol.asyncDispose]();
    },
  };
}

describe("the page's events", () => {
  it("tell that the log has grown while another event was on its way", async () => {
    await using events = await openPageEvents();
    assert.match(await events.next(), /^retry:/);
    assert.match(await events.next(), /event: org/);
    const next = events.next();
    await quiet();
    events.change();
    assert.match(await next, /event: org/);
    // Before more is asked for, as while the network takes the event.
    events.logs.begin("run_1");
    let grown = "";
    void events.next().then((text) => {
      grown = text;
    });
    await quiet();
    assert.match(grown, /event: log/);
  });

  it("leave no listener behind when the session can't be looked up", async () => {
    await using events = await openPageEvents();
    await events.next();
    await events.next();
    assert.equal(events.bus.subscribers, 1);
    await events.db.schema.alterTable("sessions").renameTo("sessions_away").execute();
    events.logs.begin("run_1");
    assert.equal(await events.next(), "");
    await quiet();
    assert.deepEqual(events.broken, ["broken off"]);
    assert.equal(events.bus.subscribers, 0);
  });

  it("need nothing that the oldest Node.js to run the service lacks", async () => {
    const known = Object.getOwnPropertyDescriptor(globalThis, "DisposableStack") ?? assert.fail();
    Reflect.deleteProperty(globalThis, "DisposableStack");
    try {
      await using events = await openPageEvents();
      assert.match(await events.next(), /^retry:/);
      assert.match(await events.next(), /event: org/);
    } finally {
      Object.defineProperty(globalThis, "DisposableStack", known);
    }
  });
});
