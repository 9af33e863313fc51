import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Hono } from "hono";
import type { AppEnv } from "../../../src/service/http/everyRequest.ts";
import { connectionLimits, createHttpServer } from "../../../src/service/http/httpServer.ts";
import { OpenReplies } from "../../../src/service/http/openReplies.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { errorTypeOf, parseReply, rawExchange } from "../rawExchange.ts";
import { startedService } from "../startedService.ts";

const large = "x".repeat(3_000_000);

/** Each reply on the wire, one behind the other, as far as their lengths are told. */
function statusesOf(wire: string): string[] {
  return [...wire.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = ""]) => status);
}

describe("a reply that is sent before the request's body was read", () => {
  it("closes the connection, so that fetch sends what follows over another: 20 times of 20", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const headers = { "x-api-key": secret };
    for (let time = 0; time < 20; time++) {
      const refused = await service.fetch("/api/runs", { method: "POST", headers, body: large });
      assert.deepEqual([refused.status, refused.headers.get("connection")], [413, "close"]);
      assert.equal(errorTypeOf(await refused.json()), "payload-too-large");
      const next = await service.fetch("/api/org", { headers });
      assert.deepEqual([next.status, next.headers.get("connection")], [200, "keep-alive"]);
      await next.text();
    }
  });

  it("says so whatever it says beside: no key, a foreign one, another host, no such path or method", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const viewer = await service.key("viewer");
    for (const [status, line, headers] of [
      [401, "POST /api/runs", ""],
      [401, "POST /api/runs", "x-api-key: none\r\n"],
      [403, "POST /api/runs", `x-api-key: ${viewer.secret}\r\n`],
      [403, "POST /api/runs", "origin: http://elsewhere\r\n"],
      [404, "POST /nowhere", `x-api-key: ${secret}\r\n`],
      [404, "POST /api/runs/none/cancel", `x-api-key: ${secret}\r\n`],
      [405, "PATCH /api/runs", `x-api-key: ${secret}\r\n`],
      [414, `POST /${"x".repeat(5_000)}`, ""],
      [417, "POST /api/runs", "expect: a-miracle\r\n"],
      [200, "GET /healthz", ""],
    ] as const) {
      const head = `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}`;
      for (const begun of [
        "content-length: 60000\r\n\r\nx",
        "transfer-encoding: chunked\r\n\r\n1\r\nx\r\n",
      ]) {
        const reply = parseReply(await rawExchange(service.url, head + begun));
        assert.deepEqual([reply.status, reply.headers.get("connection")], [status, "close"], head + begun);
      }
    }
  });

  it("is the last one on its connection: a request behind the body is neither answered nor acted on", async () => {
    await using service = await startedService();
    const { secret } = await service.key("owner");
    const key = `host: 127.0.0.1\r\nx-api-key: ${secret}\r\n`;
    const before = `GET /api/org HTTP/1.1\r\n${key}\r\n`;
    const refused = `POST /api/runs HTTP/1.1\r\n${key}content-length: ${large.length}\r\n\r\n${large}`;
    const made = JSON.stringify({ name: "made behind", role: "member" });
    const behind = `POST /api/keys HTTP/1.1\r\n${key}content-length: ${made.length}\r\n\r\n${made}`;
    const wire = await rawExchange(service.url, before + refused + behind);
    assert.deepEqual(statusesOf(wire), ["200", "413"]);
    assert.match(wire, /payload-too-large[^\n]*\}$/);
    const keys = await service.fetch("/api/keys", { headers: { "x-api-key": secret } });
    assert.equal(keys.status, 200);
    assert.doesNotMatch(await keys.text(), /made behind/);
  });

  it("reaches a caller that first sends all and only then reads", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
    const head = `POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\n`;
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.write(`${head}content-length: ${large.length}\r\n\r\n${large}`, () => resolve());
    });
    const { status, body } = parseReply(await text(socket));
    assert.equal(status, 413);
    assert.equal(errorTypeOf(body), "payload-too-large");
  });

  it("comes also where the body has no end", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const head = `POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\n`;
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const wire = await rawExchange(service.url, (socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
      const more = () => {
        while (socket.writable && socket.write(chunk));
      };
      socket.on("drain", more);
      more();
    });
    const { status, headers, body } = parseReply(wire);
    assert.deepEqual([status, headers.get("connection")], [413, "close"]);
    assert.equal(errorTypeOf(body), "payload-too-large");
  });

  it("takes the place of `100 Continue`, which is sent when the body is read", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const head = "POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: 100-continue\r\n";
    const good = `${head}x-api-key: ${secret}\r\n`;
    for (const [status, asked] of [
      ["413", `${good}content-length: 3000000\r\n\r\n`],
      ["401", `${head}content-length: 10\r\n\r\n`],
    ] as const) {
      assert.deepEqual(statusesOf(await rawExchange(service.url, asked)), [status]);
    }
    const wire = await rawExchange(service.url, (socket: Socket) => {
      socket.write(`${good}connection: close\r\ncontent-length: 2\r\n\r\n`);
      socket.once("data", () => socket.write("{}"));
    });
    assert.deepEqual(statusesOf(wire), ["100", "400"]);
  });

  it("leaves a connection open whose request's body was read, or that had none", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
      [Symbol.dispose]: () => agent.destroy(),
    });
    const sockets = new Set<Socket>();
    for (const [method, path, body] of [
      ["POST", "/api/runs", "no JSON"],
      ["POST", "/api/runs", ""],
      ["GET", "/api/org", ""],
      ["POST", "/api/runs/none/cancel", ""],
      ["GET", "/nowhere", ""],
      ["PUT", "/api/projects/shop", "{}"],
    ] as const) {
      const headers = { "x-api-key": secret, "content-length": body.length };
      const asked = request(`${service.url}${path}`, { agent, method, headers }).end(body);
      asked.once("socket", (socket) => sockets.add(socket));
      const [reply] = await once(asked, "response");
      assert.equal(reply.headers.connection, "keep-alive", `${method} ${path}`);
      await text(reply);
    }
    assert.equal(sockets.size, 1);
  });

  it("is told whole by curl, which then asks for the next thing", async function () {
    if (spawnSync("curl", ["--version"]).status !== 0) this.skip();
    await using service = await startedService();
    await using folder = await TemporaryFolder.make();
    const { secret } = await service.key();
    const file = join(folder.path, "body");
    await writeFile(file, large);
    const key = ["--silent", "--show-error", "--header", `x-api-key: ${secret}`];
    const write = ["--write-out", "\n%{http_code}\n"];
    for (const expect of ["expect: 100-continue", "expect:"]) {
      const first = [...key, ...write, "--header", expect, "--data-binary", `@${file}`];
      const curl = spawn("curl", [
        ...first,
        `${service.url}/api/runs`,
        "--next",
        ...key,
        ...write,
        `${service.url}/api/org`,
      ]);
      const [out, said] = await Promise.all([text(curl.stdout), text(curl.stderr)]);
      assert.match(out, /payload-too-large[^\n]*\n413\n.*"org-name":"acme".*\n200\n$/s, said);
    }
  });
});

/** The real server with a clock that stands, over an app that reads no body. */
async function standingServer(limits: Partial<Record<keyof typeof connectionLimits, number>> = {}) {
  const clock = new FakeClock("2026-03-04T12:00:00Z");
  const read: string[] = [];
  const app = new Hono<AppEnv>();
  app.post("/read", async (context) => {
    read.push(await context.req.text());
    return context.text("read");
  });
  app.all("*", (context) => context.text("unread", 400));
  app.onError((_, context) => context.text("left", 400));
  const server = createHttpServer({
    app,
    replies: new OpenReplies(),
    clock,
    log: () => {},
    limits: { ...connectionLimits, ...limits },
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock,
    read,
    sockets,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

describe("a connection behind its last reply", () => {
  const begun = "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000000\r\n\r\n";

  it("is half closed at once, and gone when the caller stays", async () => {
    await using server = await standingServer();
    const socket = connect({
      port: Number(new URL(server.url).port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    socket.write(begun);
    assert.match(await text(socket), /unread$/);
    const [served] = server.sockets;
    assert(served !== undefined && !served.destroyed);
    const closed = once(served, "close");
    while (server.clock.alarms === 0) await once(served, "finish");
    server.clock.advance(2_000);
    await closed;
    assert.equal(server.clock.alarms, 0);
    socket.destroy();
  });

  it("is gone at once when the caller goes", async () => {
    await using server = await standingServer();
    assert.match(await rawExchange(server.url, begun), /unread$/);
    const [served] = server.sockets;
    if (served?.closed === false) await once(served, "close");
    assert.equal(server.clock.alarms, 0);
  });

  it("takes no more than so much, however fast it comes", async () => {
    await using server = await standingServer();
    const socket = connect({
      port: Number(new URL(server.url).port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    const more = () => {
      while (socket.writable && socket.write(large));
    };
    socket.on("drain", more).on("error", () => {});
    socket.write(begun);
    more();
    await new Promise((resolve) => void socket.once("close", resolve));
    const [served] = server.sockets;
    assert(
      served !== undefined && served.bytesRead > 16e6 && served.bytesRead < 20e6,
      `${served?.bytesRead}`,
    );
  });

  it("tells a body that is too slow so, and doesn't act on it when it comes after all", async () => {
    await using server = await standingServer({
      headersTimeout: 200,
      requestTimeout: 200,
      connectionsCheckingInterval: 50,
    });
    const slow = begun.replace("/ ", "/read ").replace("1000000000", "4");
    const wire = await rawExchange(server.url, (socket) => {
      socket.write(`${slow}on`);
      socket.once("data", () => socket.write("ly"));
    });
    const { status, headers, body } = parseReply(wire);
    assert.deepEqual([status, headers.get("connection")], [408, "close"]);
    assert.equal(errorTypeOf(body), "invalid-request");
    assert.deepEqual(server.read, []);
  });

  it("tells headers that are too long so, however much comes behind them", async () => {
    await using server = await standingServer();
    const wire = await rawExchange(server.url, `GET / HTTP/1.1\r\na: ${large}${large}`);
    assert.equal(parseReply(wire).status, 431);
    assert.equal(errorTypeOf(parseReply(wire).body), "invalid-request");
  });
});
