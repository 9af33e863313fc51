import assert from "node:assert/strict";
import { FakeClock } from "../clock/fakeClock.ts";
import { onBoth } from "../service/onBoth.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { Visitor } from "./visitor.ts";

const hour = 3_600_000;

onBoth("a session of the page", (store) => {
  it("is a cookie out of reach of scripts and other sites, of which only a hash is kept", async () => {
    await using service = await serviceOn(store);
    const key = await service.key();
    const visitor = new Visitor(service);
    const reply = await visitor.signIn(key.secret);
    assert.equal(reply.status, 303);
    assert.equal(reply.headers.get("location"), "/app/runs");
    const [cookie = ""] = reply.headers.getSetCookie();
    assert.match(cookie, /^pipeline-runs-[0-9a-f]{16}=[\w-]{43}; /);
    assert.match(cookie, /; HttpOnly/);
    assert.match(cookie, /; SameSite=Strict/);
    assert.match(cookie, /; Path=\/app(;|$)/);
    const rows = await service.db.selectFrom("sessions").selectAll().execute();
    assert.equal(rows.length, 1);
    assert(!JSON.stringify(rows).includes(cookie.slice(cookie.indexOf("=") + 1, cookie.indexOf(";"))));
    assert(!(await visitor.text("/app/runs")).includes(key.secret.slice(-43)));
    assert(!service.logged.join("\n").includes(key.secret.slice(-43)));
  });

  it("is refused to a wrong key with 401, which comes back in no way", async () => {
    await using service = await serviceOn(store);
    const key = await service.key();
    const wrong = `${key.secret.slice(0, -1)}${key.secret.endsWith("A") ? "B" : "A"}`;
    const reply = await new Visitor(service).signIn(wrong);
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get("set-cookie"), null);
    assert(!(await reply.text()).includes(wrong));
  });

  it("is asked for where one opens the service's address alone, and then the runs show", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.key();
    const visitor = new Visitor(service);
    for (const path of ["/", "/app"]) {
      const reply = await visitor.get(path);
      assert.deepEqual([reply.status, reply.headers.get("location")], [303, "/app/runs"], path);
    }
    assert.equal((await visitor.get("/app/runs")).headers.get("location"), "/app/sign-in?next=%2Fapp%2Fruns");
    await visitor.signIn(secret);
    assert.match(await visitor.text("/app/runs"), /<h1>Runs<\/h1>/);
  });

  it("ends after twelve hours without use, and with use after seven days", async () => {
    const began = Date.parse("2026-03-01T08:00:00Z");
    const clock = new FakeClock(new Date(began).toISOString());
    await using service = await serviceOn(store, { clock });
    const { secret } = await service.key();
    const [used, unused] = [new Visitor(service), new Visitor(service)];
    await used.signIn(secret);
    await unused.signIn(secret);
    // Set and not turned, since all that the service does every few seconds would take a second.
    const after = (hours: number) => service.set(new Date(began + hours * hour).toISOString());
    for (let passed = 11; passed < 7 * 24; passed += 11) {
      await after(passed);
      assert.equal((await used.get("/app/runs")).status, 200, `after ${passed} h`);
      if (passed > 11) assert.equal((await unused.get("/app/runs")).status, 303);
    }
    await after(7 * 24);
    assert.equal((await used.get("/app/runs")).status, 303);
  });

  it("ends when it is signed out, and when its key is revoked", async () => {
    await using service = await serviceOn(store);
    const { secret, keyId } = await service.key();
    const [out, other] = [new Visitor(service), new Visitor(service)];
    await out.signIn(secret);
    await other.signIn(secret);
    const reply = await out.post("/app/sign-out", {});
    assert.equal(reply.status, 303);
    assert.equal((await out.get("/app/runs")).status, 303);
    assert.equal((await other.get("/app/runs")).status, 200);
    await service.db.updateTable("keys").set({ revoked_at: Date.now() }).where("id", "=", keyId).execute();
    assert.equal((await other.get("/app/runs")).status, 303);
    assert.equal((await other.get("/app/events", { accept: "text/event-stream" })).status, 401);
  });

  it("is there again after the service was started anew", async () => {
    await using service = await serviceOn(store);
    const visitor = new Visitor(service);
    await visitor.signIn((await service.key()).secret);
    await service.restart();
    assert.equal((await visitor.get("/app/runs")).status, 200);
  });

  it("leaves no more rows than twenty a key, and none that are over", async () => {
    const clock = new FakeClock("2026-03-01T08:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { secret } = await service.key();
    const first = new Visitor(service);
    await first.signIn(secret);
    for (let count = 0; count < 20; count++) {
      await service.turn(1000);
      await new Visitor(service).signIn(secret);
    }
    const count = async () => (await service.db.selectFrom("sessions").select("hash").execute()).length;
    assert.equal(await count(), 20);
    assert.equal((await first.get("/app/runs")).status, 303);
    await service.turn(13 * hour);
    await new Visitor(service).signIn(secret);
    assert.equal(await count(), 1);
  });

  it("goes on at the page that was asked for, and at no other place", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.key();
    const visitor = new Visitor(service);
    const asked = await visitor.get("/app/runs/run_1?x=1");
    assert.equal(asked.headers.get("location"), "/app/sign-in?next=%2Fapp%2Fruns%2Frun_1%3Fx%3D1");
    for (const [next, goesTo] of [
      ["/app/runs/run_1?x=1", "/app/runs/run_1?x=1"],
      ["https://elsewhere.example/app/runs", "/app/runs"],
      ["//elsewhere.example/app/runs", "/app/runs"],
      ["/\\elsewhere.example/app/runs", "/app/runs"],
      ["/app/runs/../../api/org", "/app/runs"],
      ["/app/sign-out", "/app/runs"],
      ["javascript:alert(1)", "/app/runs"],
    ] as const) {
      const reply = await visitor.post("/app/sign-in", { key: secret, next });
      assert.equal(reply.headers.get("location"), goesTo, next);
    }
  });
});
