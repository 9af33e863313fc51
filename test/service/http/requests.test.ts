import assert from "node:assert/strict";
import { request } from "node:http";
import { FakeClock } from "../../clock/fakeClock.ts";
import { fillDay } from "../fillDay.ts";
import { parseReply, rawExchange } from "../rawExchange.ts";
import { programPipeline, startedService, untilCancelled } from "../startedService.ts";

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One request as it is written on the wire. */
async function ask(url: string, { method = "GET", path = "/api/org", headers = {}, body = "" }: Asked) {
  const lines = Object.entries({
    host: new URL(url).host,
    "x-request-id": "same",
    ...headers,
    ...(method === "GET" ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  const text = await rawExchange(url, `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  const reply = parseReply(text);
  return { ...reply, headers: Object.fromEntries([...reply.headers].sort()) };
}

describe("what is asked most", () => {
  it("is answered by the rule that comes first", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { secret, orgId } = await service.member();
    const viewer = await service.key("viewer");
    await service.write("long", programPipeline(untilCancelled));
    await service.write("broken", "steps: 3");
    const key = { "x-api-key": secret };
    const start = (body: unknown, headers = {}): Asked => ({
      method: "POST",
      path: "/api/runs",
      headers: { ...key, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const project = service.project.name;
    const named = { pipeline: "long", project };
    const first = await ask(service.url, start(named, { "idempotency-key": "first" }));
    assert.equal(first.status, 201);
    const cases: readonly (readonly [Asked, number])[] = [
      [{ headers: key }, 200],
      [{ headers: { "x-api-key": viewer.secret } }, 200],
      [{}, 401],
      [{ headers: { "x-api-key": "nonsense" } }, 401],
      [{ headers: { ...key, origin: "http://evil.example" } }, 403],
      [{ headers: { ...key, "sec-fetch-site": "cross-site" } }, 200],
      [start(named), 429],
      [start({ pipeline: "long" }), 429],
      [start(named, { "idempotency-key": "first" }), 201],
      [start({ ...named, pipeline: "broken" }, { "idempotency-key": "first" }), 409],
      [start(named, { "idempotency-key": "" }), 400],
      [start(named, { "idempotency-key": "x".repeat(256) }), 400],
      [start(named, { agent: "" }), 400],
      [start(named, { agent: "x".repeat(101) }), 400],
      [start(named, { agent: secret }), 400],
      [start(named, { agent: "some agent" }), 429],
      [start({ pipeline: "lon", project }), 404],
      [start({ pipeline: "broken", project }), 400],
      [start({ pipeline: "long", project: "none" }), 404],
      [start({ ...named, "time-limit-seconds": 3601 }), 400],
      [start("{"), 400],
      [start(""), 400],
      [start(`\ufeff${JSON.stringify(named)}`), 429],
      [start(named, { "x-api-key": viewer.secret }), 403],
      [start(named, { prefer: "wait=0" }), 429],
    ];
    const compare = async (asked: Asked, status: number) =>
      assert.equal((await ask(service.url, asked)).status, status, JSON.stringify(asked));
    for (const [asked, status] of cases) await compare(asked, status);
    await fillDay(service.data, 50, clock.now(), orgId);
    await compare(start(named), 429);
    await compare(start(named, { prefer: "wait=120" }), 429);
    await compare({ headers: key }, 200);
    const refused = await ask(service.url, start(named));
    assert.equal(refused.headers["retry-after"], "43200");
    clock.advance(43_200_000);
    await compare({ headers: key }, 200);
  });

  it("is what another process wrote a moment ago: another tier, and then a revoked key", async () => {
    await using service = await startedService();
    const { secret, keyId } = await service.member();
    const asked = { headers: { "x-api-key": secret } };
    for (let time = 0; time < 3; time++) {
      assert.equal((await ask(service.url, asked)).status, 200);
    }
    await service.db.updateTable("orgs").set({ tier: "team", runs_per_day: 500 }).execute();
    assert.match((await ask(service.url, asked)).headers["ratelimit"] ?? "", /r=500/);
    await service.db.updateTable("keys").set({ revoked_at: Date.now() }).where("id", "=", keyId).execute();
    assert.equal((await ask(service.url, asked)).status, 401);
  });

  it("is answered as well when it was sent right behind a start on the same connection", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const { host } = new URL(service.url);
    const body = JSON.stringify({ pipeline: "long" });
    const start = (connection: string) =>
      `POST /api/runs HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${secret}\r\nconnection: ${connection}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`;
    const text = await rawExchange(service.url, start("keep-alive") + start("keep-alive") + start("close"));
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
      ["201", "429", "429"],
    );
  });

  it("has its line in the log, also when its caller leaves in the middle of its body", async () => {
    await using service = await startedService();
    const { secret, keyId } = await service.member();
    const asked = request(`${service.url}/api/runs`, {
      method: "POST",
      headers: { "x-api-key": secret, "content-length": "100", "x-request-id": "left" },
    });
    asked.on("error", () => {});
    await new Promise<void>((resolve) => void asked.write("{", () => resolve()));
    // What has come later is answered, so what came before has been read.
    await ask(service.url, { headers: { "x-api-key": secret } });
    asked.destroy();
    const lines = () =>
      service.logged
        .map((line): Record<string, unknown> => JSON.parse(line))
        .filter(({ message }) => message === "request");
    const lineOf = async (requestId: string) => {
      for (;;) {
        const line = lines().find((one) => one["requestId"] === requestId);
        if (line !== undefined) return line;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const { route, status, method } = await lineOf("same");
    assert.deepEqual([method, route, status], ["GET", "/api/org", 200]);
    const left = await lineOf("left");
    assert.deepEqual(
      [left["route"], left["status"], left["callerLeft"], left["keyId"]],
      ["/api/runs", undefined, true, keyId],
    );
  });
});
