import assert from "node:assert/strict";
import type { Role } from "../../../src/contract/keys.ts";
import { toWire } from "../../../src/contract/wire.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { putRuns } from "../../page/putRuns.ts";
import { onBoth } from "../onBoth.ts";
import { openStream } from "../openStream.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  ended,
  programPipeline,
  type Service,
  started,
  startedService,
  untilCancelled,
} from "../startedService.ts";

const never = new AbortController().signal;

/** One request with a key: its status and its JSON. */
async function ask(service: Service, secret: string, method: string, path: string, body?: unknown) {
  const reply = await service.fetch(path, {
    method,
    headers: { "x-api-key": secret },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: reply.status, json: JSON.parse(await reply.text()) };
}

/** An event stream of a key that has begun, and all of its text once it has ended. */
async function listening(service: Service, secret: string) {
  const reply = await service.fetch("/api/events", { headers: { "x-api-key": secret } });
  assert.equal(reply.status, 200);
  return { whole: reply.text() };
}

onBoth("API keys over HTTP", (store) => {
  it("are all listed for an owner, and for anyone else only the own one, never with a secret", async () => {
    await using service = await serviceOn(store);
    const owner = await service.key("owner");
    const member = await service.key("member");
    const viewer = await service.key("viewer");
    await service.key("owner", "other");
    const all = await ask(service, owner.secret, "GET", "/api/keys");
    assert.equal(all.status, 200);
    assert.deepEqual(
      all.json.keys.map((key: Record<string, unknown>) => [key["key-id"], key["role"], key["is-actor"]]),
      [
        [owner.keyId, "owner", true],
        [member.keyId, "member", false],
        [viewer.keyId, "viewer", false],
      ],
    );
    for (const { secret, keyId } of [member, viewer]) {
      const own = await ask(service, secret, "GET", "/api/keys");
      assert.deepEqual(
        own.json.keys.map((key: Record<string, unknown>) => key["key-id"]),
        [keyId],
      );
    }
    const text = JSON.stringify(all.json);
    for (const { secret } of [owner, member, viewer]) assert(!text.includes(secret.slice(-43)));
    assert.doesNotMatch(text, /[0-9a-f]{64}/);
  });

  it("are made by an owner, for its own org, and shown once", async () => {
    await using service = await serviceOn(store);
    const owner = await service.key("owner");
    const made = await ask(service, owner.secret, "POST", "/api/keys", { role: "member", name: "CI" });
    assert.equal(made.status, 201);
    assert.deepEqual(Object.keys(made.json), ["org-id", "key-id", "name", "role", "created-at", "api-key"]);
    assert.equal(made.json["org-id"], owner.orgId);
    const org = await ask(service, made.json["api-key"], "GET", "/api/org");
    assert.equal(org.json.actor, made.json["key-id"]);
    const { json } = await ask(service, owner.secret, "GET", "/api/keys");
    assert.equal(json.keys[1].name, "CI");
    assert(!("api-key" in json.keys[1]));
  });

  it("have names that stand beside their ids wherever a run tells of them", async () => {
    await using service = await serviceOn(store);
    const owner = await service.key("owner");
    const made = await ask(service, owner.secret, "POST", "/api/keys", { role: "member", name: "ada" });
    const [ada, key] = [service.client(made.json["api-key"]), made.json["key-id"]];
    await service.addProject(ada);
    await service.write("long", programPipeline(untilCancelled));
    const { runId } = await started(ada, "long");
    const listed = await ask(service, owner.secret, "GET", "/api/runs");
    assert.deepEqual([listed.json.runs[0].actor, listed.json.runs[0]["actor-name"]], [key, "ada"]);
    await ada.cancel(runId, never);
    await ended(ada, { runId });
    const { json } = await ask(service, owner.secret, "GET", `/api/runs/${runId}`);
    assert.deepEqual([json["actor-name"], json.reason], ["ada", `cancelled by ${key}`]);
    assert.equal(json["canceller-name"], "ada");

    const second = await started(ada, "long");
    await service.client(owner.secret).cancel(second.runId, never);
    const nameless = toWire(await ended(service.client(owner.secret), second));
    assert(!("canceller-name" in Object(nameless)), JSON.stringify(nameless));
  });

  it("stay unnamed in a reason that only looks like a cancel's", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key("owner");
    const other = await service.key("owner", "other");
    await service.db.updateTable("keys").set({ name: "hidden" }).where("id", "=", other.keyId).execute();
    const reasons = [`step-of-11-: ${other.keyId}`, `cancelled by ${other.keyId}: no`, "cancelled by "];
    await putRuns(
      service.db,
      orgId,
      reasons.map((reason) => ({ status: "failed", reason })),
    );
    const { json } = await ask(service, secret, "GET", "/api/runs");
    assert.equal(json.runs.length, 3);
    assert.doesNotMatch(JSON.stringify(json), /hidden/);
  });

  it("are made and revoked by no one but an owner", async () => {
    await using service = await serviceOn(store);
    const owner = await service.key("owner");
    for (const role of ["member", "viewer"] satisfies Role[]) {
      const { secret, keyId } = await service.key(role);
      for (const path of ["/api/keys", `/api/keys/${owner.keyId}/revoke`, `/api/keys/${keyId}/revoke`]) {
        const { status, json } = await ask(service, secret, "POST", path, { role: "owner" });
        assert.equal(status, 403, `${role} ${path}`);
        assert.equal(json.error.type, "forbidden");
      }
    }
    assert.equal((await ask(service, owner.secret, "GET", "/api/keys")).json.keys.length, 3);
  });

  it("tell what is wrong with a role or a name", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.key("owner");
    const problem = async (body: unknown) => {
      const { status, json } = await ask(service, secret, "POST", "/api/keys", body);
      return `${status} ${json.error.type} ${json.error.message}`;
    };
    assert.match(await problem({}), /^400 invalid-request .*`role`/);
    assert.match(await problem({ role: "admin" }), /^400 .*`role`/);
    assert.match(await problem({ role: "member", name: "" }), /^400 .*`name` is too short/);
    assert.match(await problem({ role: "member", name: "x".repeat(101) }), /^400 .*`name` is too long/);
    assert.match(await problem({ role: "member", name: "a\u001b[2Jb" }), /^400 .*`name`: it has control/);
    assert.match(await problem({ role: "member", name: secret }), /^400 .*`name` is an API key/);
    assert.match(
      await problem({ role: "member", name: "You" }),
      /^400 .*`name`: `you` is what each reader's/,
    );
    assert.equal((await ask(service, secret, "GET", "/api/keys")).json.keys.length, 1);
  });

  it("open nothing once they are revoked, and revoking again changes nothing", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await serviceOn(store, { clock });
    const owner = await service.key("owner");
    const member = await service.key("member");
    const path = `/api/keys/${member.keyId}/revoke`;
    const first = await ask(service, owner.secret, "POST", path);
    assert.equal(first.status, 200);
    assert.equal(first.json["revoked-at"], "2026-03-04T12:00:00.000Z");
    const refused = await ask(service, member.secret, "GET", "/api/org");
    assert.equal(refused.status, 401);
    assert.equal(refused.json.error.type, "unauthorized");
    await service.turn(60_000);
    assert.deepEqual(await ask(service, owner.secret, "POST", path), first);
    const { json } = await ask(service, owner.secret, "GET", "/api/keys");
    assert.equal(json.keys[1]["revoked-at"], "2026-03-04T12:00:00.000Z");
  });

  it("of another org are not told from none", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.key("owner");
    const other = await service.key("member", "other");
    const theirs = await ask(service, secret, "POST", `/api/keys/${other.keyId}/revoke`);
    const none = await ask(service, secret, "POST", "/api/keys/key_none/revoke");
    assert.deepEqual([theirs.status, none.status], [404, 404]);
    assert.equal(
      theirs.json.error.message.replace(other.keyId, ""),
      none.json.error.message.replace("key_none", ""),
    );
    assert.equal((await ask(service, other.secret, "GET", "/api/org")).status, 200);
  });

  it("leave an org its last owner key, saying what to do", async () => {
    await using service = await serviceOn(store);
    const owner = await service.key("owner");
    const own = `/api/keys/${owner.keyId}/revoke`;
    const last = await ask(service, owner.secret, "POST", own);
    assert.equal(last.status, 409);
    assert.equal(last.json.error.type, "conflict");
    assert.match(last.json.error.next, /another owner key/);
    const second = await ask(service, owner.secret, "POST", "/api/keys", { role: "owner" });
    // Its own reply still reaches who revokes its own key.
    assert.equal((await ask(service, owner.secret, "POST", own)).status, 200);
    assert.equal((await ask(service, owner.secret, "GET", "/api/org")).status, 401);
    assert.equal((await ask(service, second.json["api-key"], "GET", "/api/org")).status, 200);
  });

  it("leave an org an owner key also where the last two revoke each other at once", async () => {
    await using service = await serviceOn(store);
    for (let org = 0; org < 10; org++) {
      const [one, other] = [
        await service.key("owner", `org ${org}`),
        await service.key("owner", `org ${org}`),
      ];
      const revoking = [
        ask(service, one.secret, "POST", `/api/keys/${other.keyId}/revoke`),
        ask(service, other.secret, "POST", `/api/keys/${one.keyId}/revoke`),
      ];
      const done = (await Promise.all(revoking)).filter(({ status }) => status === 200);
      assert.equal(done.length, 1);
    }
  });

  it("of a new org are made at once, and the org once", async () => {
    await using service = await serviceOn(store);
    for (let org = 0; org < 10; org++) {
      const keys = Array.from({ length: 5 }, () => service.key("owner", `org ${org}`));
      assert.equal(new Set((await Promise.all(keys)).map(({ orgId }) => orgId)).size, 1);
    }
  });

  it("end their streams and their waiters at once when they are revoked, and no one else's", async () => {
    await using service = await serviceOn(store);
    const { client, ...holder } = await service.member();
    const owner = await service.key("owner");
    const leaver = await service.key("member");
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const stream = await listening(service, leaver.secret);
    const others = await listening(service, holder.secret);
    const turn = started(service.client(leaver.secret), "long", 120);
    const stays = started(service.client(owner.secret), "long", 120);
    const refused = assert.rejects(turn, { type: "unauthorized", message: "The API key was revoked." });
    // So many answers later both are in the queue.
    for (let asked = 0; asked < 30; asked++) await client.org(never);
    assert.equal((await ask(service, owner.secret, "POST", `/api/keys/${leaver.keyId}/revoke`)).status, 200);
    assert.match(await stream.whole, /event: org/);
    await refused;
    await client.cancel(run.runId, never);
    const next = await stays;
    assert.equal(next.actor, owner.keyId);
    await client.cancel(next.runId, never);
    await ended(client, next);
    assert.equal((await client.org(never)).usage.runsToday, 2);
    await service.stop();
    assert.match(await others.whole, /"status":"cancelled"/);
  });

  it("end their streams within seconds when another process revokes them", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { secret, keyId } = await service.key("member");
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await stream.events.atLeast(1);
    await service.db.updateTable("keys").set({ revoked_at: clock.now() }).where("id", "=", keyId).execute();
    await service.turn(2_000);
    assert.equal(await stream.ended, "in order");
  });

  it("end the logs that they follow: events as a whole, lines as broken off", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const owner = await service.key("owner");
    const reader = await service.key("viewer");
    await service.write("long", programPipeline(`console.log("begun"); ${untilCancelled}`));
    const run = await started(client, "long");
    const follow = async (accept: string) => {
      const headers = { "x-api-key": reader.secret, accept };
      const reply = await service.fetch(`/api/runs/${run.runId}/log`, { headers });
      assert.equal(reply.status, 200);
      return reply;
    };
    const events = (await follow("text/event-stream")).text();
    const lines = await follow("application/x-ndjson");
    const cutOff = assert.rejects(lines.text(), TypeError);
    await ask(service, owner.secret, "POST", `/api/keys/${reader.keyId}/revoke`);
    assert.doesNotMatch(await events, /event: end/);
    await cutOff;
    await client.cancel(run.runId, never);
    await ended(client, run);
  });

  it("leave the runs that they have started active, for a member of the org to cancel", async () => {
    await using service = await serviceOn(store);
    const { client, keyId } = await service.member();
    const owner = await service.key("owner");
    const colleague = service.client((await service.key("member")).secret);
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    await ask(service, owner.secret, "POST", `/api/keys/${keyId}/revoke`);
    assert.equal((await colleague.run(run.runId, never)).status, "running");
    await colleague.cancel(run.runId, never);
    assert.equal((await ended(colleague, run)).status, "cancelled");
  });
});

describe("this machine's API key over HTTP", () => {
  it("stays, and who would revoke it is told what to do", async () => {
    await using service = await startedService();
    const { token = "" } = (await readConnection(service.data)) ?? {};
    const { json } = await ask(service, token, "GET", "/api/keys");
    assert.equal(json.keys[0]["is-machine"], true);
    const machines = await ask(service, token, "POST", `/api/keys/${json.keys[0]["key-id"]}/revoke`);
    assert.equal(machines.status, 409);
    assert.match(machines.json.error.next, /start/);
  });
});

describe("projects over HTTP", () => {
  it("are listed, and forgotten by a member once none of their runs is active", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    const viewer = await service.key("viewer");
    const { name, root } = service.project;
    assert.deepEqual((await ask(service, viewer.secret, "GET", "/api/projects")).json, {
      projects: [{ name, root }],
    });
    const path = `/api/projects/${encodeURIComponent(name)}`;
    assert.equal((await ask(service, viewer.secret, "DELETE", path)).status, 403);
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const busy = await ask(service, secret, "DELETE", path);
    assert.equal(busy.status, 409);
    assert.match(busy.json.error.message, new RegExp(run.runId));
    await client.cancel(run.runId, never);
    await ended(client, run);
    const other = await service.key("owner", "other");
    assert.equal((await ask(service, other.secret, "DELETE", path)).status, 404);
    assert.deepEqual((await ask(service, secret, "DELETE", path)).json, { name, root });
    assert.deepEqual((await ask(service, secret, "GET", "/api/projects")).json, { projects: [] });
    assert.equal((await ask(service, secret, "DELETE", path)).status, 404);
    assert.equal((await client.run(run.runId, never)).project, name);
  });
});
