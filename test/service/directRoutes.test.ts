import assert from "node:assert/strict";
import { request } from "node:http";
import { readPlain } from "../../src/service/http/plainRequest.ts";
import { fillDay } from "./fillDay.ts";
import { parseReply, rawExchange } from "./rawExchange.ts";
import { programPipeline, startedService, untilCancelled } from "./startedService.ts";
import { TurnedClock } from "./turnedClock.ts";

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One request, by the address that faces use: so it is answered before the app; or by another of its names: by the app. */
async function ask(
  url: string,
  { method = "GET", path = "/api/org", headers = {}, body = "" }: Asked,
  way: "direct" | "by the app",
) {
  const { host, hostname } = new URL(url);
  const lines = Object.entries({
    host: way === "direct" ? host : hostname,
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
  it("is answered the same way before the app as in it, header by header", async () => {
    const clock = new TurnedClock("2026-03-04T12:00:00Z");
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
    const first = await ask(service.url, start(named, { "idempotency-key": "first" }), "direct");
    assert.equal(first.status, 201);
    const cases: readonly (readonly [Asked, number])[] = [
      [{ headers: key }, 200],
      [{ headers: { "x-api-key": viewer.secret } }, 200],
      [{}, 401],
      [{ headers: { "x-api-key": "nonsense" } }, 401],
      [{ headers: { ...key, origin: "http://evil.example" } }, 403],
      [{ headers: { ...key, "sec-fetch-site": "cross-site" } }, 200],
      [start(named), 429],
      // Found a moment ago: the second of these is refused without a turn in line.
      [start(named), 429],
      [start({ pipeline: "long" }), 429],
      [start(named, { "idempotency-key": "first" }), 201],
      [start({ ...named, pipeline: "broken" }, { "idempotency-key": "first" }), 409],
      [start(named, { "idempotency-key": "" }), 400],
      [start(named, { "idempotency-key": "x".repeat(256) }), 400],
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
    const compare = async (asked: Asked, status: number) => {
      const direct = await ask(service.url, asked, "direct");
      assert.deepEqual(direct, await ask(service.url, asked, "by the app"), JSON.stringify(asked));
      assert.equal(direct.status, status, JSON.stringify(asked));
    };
    for (const [asked, status] of cases) await compare(asked, status);
    await fillDay(service.data, 50, clock.now(), orgId);
    await compare(start(named), 429);
    await compare(start(named, { prefer: "wait=120" }), 429);
    await compare({ headers: key }, 200);
    const refused = await ask(service.url, start(named), "direct");
    assert.equal(refused.headers["retry-after"], "43200");
    clock.turn(43_200_000);
    await compare({ headers: key }, 200);
  });

  it("is refused the moment another process revokes its key, though it was asked for just before", async () => {
    await using service = await startedService();
    const { secret, keyId } = await service.member();
    const asked = { headers: { "x-api-key": secret } };
    for (let time = 0; time < 3; time++) {
      assert.equal((await ask(service.url, asked, "direct")).status, 200);
    }
    await service.db.updateTable("keys").set({ revoked_at: Date.now() }).where("id", "=", keyId).execute();
    assert.equal((await ask(service.url, asked, "direct")).status, 401);
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
    asked.write("{");
    await new Promise<void>((resolve) => void setTimeout(resolve, 50));
    asked.destroy();
    await ask(service.url, { headers: { "x-api-key": secret } }, "direct");
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

describe("a request that is answered before the app", () => {
  const plain = (over: Partial<Parameters<typeof readPlain>[0]> = {}, ...more: string[]) =>
    readPlain({
      method: "GET",
      url: "/api/org",
      socket: { localPort: 4000 },
      rawHeaders: ["Host", "127.0.0.1:4000", "X-API-Key", "key", "Accept", "*/*", ...more],
      ...over,
    });
  const start = { method: "POST", url: "/api/runs" };

  it("is one for the org or a start, to this very address, with one key", () => {
    assert.equal(plain()?.route, "/api/org");
    assert.equal(plain(start, "Content-Length", "20")?.route, "/api/runs");
    assert.equal(plain(start, "content-length", "20", "PREFER", "wait=5")?.prefer, "wait=5");
  });

  it("is no other: whatever a guard would look at twice is left to the guards", () => {
    const left: readonly ReturnType<typeof plain>[] = [
      plain({ url: "/api/org?x" }),
      plain({ url: "http://127.0.0.1:4000/api/org" }),
      plain({ url: "/api/org/" }),
      plain({ method: "HEAD" }),
      plain({ method: "POST" }),
      plain({ socket: { localPort: 4001 } }),
      plain({ rawHeaders: ["Host", "127.0.0.1:4000"] }),
      plain({ rawHeaders: ["X-API-Key", "key"] }),
      plain({ rawHeaders: ["Host", "127.0.0.1", "X-API-Key", "key"] }),
      plain({ rawHeaders: ["Host", "evil.example:4000", "X-API-Key", "key"] }),
      plain({}, "host", "127.0.0.1:4000"),
      plain({}, "x-api-key", "another"),
      plain({}, "Origin", "http://127.0.0.1:4000"),
      plain({}, "Sec-Fetch-Site", "none"),
      plain({}, "Sec-Fetch-Mode", "cors"),
      plain({}, "Content-Length", "0"),
      plain({}, "Transfer-Encoding", "chunked"),
      plain({}, ...Array.from({ length: 200 }, () => "x")),
      plain(start),
      plain(start, "Content-Length", "65537"),
      plain(start, "Content-Length", "1e3"),
      plain(start, "Content-Length", "20", "Content-Length", "20"),
      plain(start, "Content-Length", "20", "Transfer-Encoding", "chunked"),
      plain(start, "Content-Length", "20", "Idempotency-Key", "a", "Idempotency-Key", "b"),
      plain(start, "Content-Length", "20", "Prefer", "a", "Prefer", "wait=5"),
    ];
    assert.deepEqual(
      left,
      left.map(() => undefined),
    );
  });
});
