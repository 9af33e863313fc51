import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { Answer, Fetch } from "../../../src/client/http/fetch.ts";
import { nodeFetch } from "../../../src/client/http/nodeFetch.ts";
import { OutOfReach } from "../../../src/client/http/outOfReach.ts";
import { ServiceClient } from "../../../src/client/http/serviceClient.ts";
import { FakeClock } from "../fakeClock.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../loopbackService.ts";

const never = new AbortController().signal;

function clientOf(origin: string, clock = new FakeClock()): ServiceClient {
  const fetch = nodeFetch({ proxy: undefined, clock });
  return new ServiceClient({ baseUrl: new URL(`${origin}/`), apiKey: testKey, clock, fetch });
}

/** A program that does what it is told with the bytes of a connection, on an address of this machine. */
async function listening(server: Server, host = "127.0.0.1"): Promise<{ host: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    host: `${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const saying = (text: string): Server =>
  createServer((socket) => void socket.once("data", () => socket.end(text)));

async function fault(asked: Promise<unknown>): Promise<OutOfReach> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof OutOfReach) return error;
    throw error;
  }
  return assert.fail("it answered");
}

/** A request as the client sends it. */
function get(fetch: Fetch, url: string, signal = never): Promise<Answer> {
  return fetch(new URL(url), { method: "GET", headers: {}, redirect: "manual", cache: "no-store", signal });
}

async function textOf({ body }: Answer): Promise<string> {
  return body === null ? "" : text(body);
}

describe("the tool's fetch", () => {
  it("sends and brings what Node's own does", async () => {
    await using service = await LoopbackService.listen((_, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      sendJson(response, 418, { text: "ü" });
    });
    const own = nodeFetch({ proxy: undefined });
    const requests: readonly Fetch[] = [own, fetch];
    for (const request of requests) {
      const answer = await request(new URL(`${service.origin}/x?y=z`), {
        method: "POST",
        headers: { "x-a": "1", "content-type": "application/json" },
        body: '{"ü":1}',
        redirect: "manual",
        cache: "no-store",
        signal: never,
      });
      assert.equal(answer.status, 418);
      const names = ["Set-Cookie", "content-type", "x-missing"];
      const values = names.map((name) => answer.headers.get(name));
      assert.deepEqual(values, ["a=1, b=2", "application/json", null]);
      assert.deepEqual(JSON.parse(await textOf(answer)), { text: "ü" });
    }
    const [mine, nodes] = service.asked;
    assert.ok(mine !== undefined && nodes !== undefined);
    assert.deepEqual([mine.method, mine.path, mine.body], [nodes.method, nodes.path, nodes.body]);
    for (const name of ["host", "x-a", "content-type", "content-length", "cache-control", "pragma"]) {
      assert.equal(mine.headers[name], nodes.headers[name], name);
    }
  });

  it("brings an answer without a body", async () => {
    for (const status of [204, 205, 304]) {
      await using service = await LoopbackService.listen(
        (_, response) => void response.writeHead(status).end(),
      );
      const answer = await get(nodeFetch({ proxy: undefined }), service.origin);
      assert.deepEqual([answer.status, await textOf(answer)], [status, ""]);
    }
  });

  it("asks over one connection as long as it is kept", async () => {
    let connections = 0;
    const server = createHttpServer((_, response) => sendJson(response, 200, orgOnWire));
    server.on("connection", () => {
      connections += 1;
    });
    await using there = await listening(server);
    const client = clientOf(`http://${there.host}`);
    for (let times = 0; times < 5; times++) await client.org(never);
    assert.equal(connections, 1);
  });

  it("reaches an IPv6 address", async () => {
    const server = createHttpServer((_, response) => sendJson(response, 200, orgOnWire));
    await using there = await listening(server, "::1");
    assert.equal((await clientOf(`http://${there.host}`).org(never)).orgName, "Lamps");
  });

  it("stops in whatever stage, with the reason it is given, and leaves no timer", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/begun") response.writeHead(200).write("{");
    });
    const fetch = nodeFetch({ proxy: undefined, clock });
    const reason = { not: "an error" };
    await assert.rejects(get(fetch, service.origin, AbortSignal.abort(reason)), (error) => error === reason);
    const stop = new AbortController();
    const asked = get(fetch, service.origin, stop.signal);
    await service.until(() => service.asked.length === 1);
    stop.abort(reason);
    await assert.rejects(asked, (error) => error === reason);
    const later = new AbortController();
    const answer = await get(fetch, `${service.origin}/begun`, later.signal);
    later.abort(new Error("enough"));
    await assert.rejects(textOf(answer), /enough/);
    await service.until(() => service.left === 2);
    assert.equal(clock.sleeping, 0);
  });

  it("gives up after 10 s on a host that takes the connection and agrees on no TLS", async () => {
    const clock = new FakeClock();
    const server = createServer();
    await using there = await listening(server);
    const options = { waitSeconds: 120, idempotencyKey: "k" };
    const asked = fault(clientOf(`https://${there.host}`, clock).start({ pipeline: "a" }, options, never));
    const socket = await new Promise<Socket>((resolve) => server.once("connection", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    clock.advance(10_000);
    assert.equal((await asked).message, `${there.host} did not answer within 10 s.`);
    socket.end();
    await closed;
    assert.equal(clock.sleeping, 0);
  });

  const odd: [string, string, OutOfReach["fault"], RegExp][] = [
    ["a status that there isn't", "HTTP/1.1 999 Odd\r\n\r\n", "not-http", /was not HTTP\.$/],
    ["no HTTP", "SSH-2.0-OpenSSH_9\r\n", "not-http", /was not HTTP\.$/],
    ["nothing", "", "dropped", /closed the connection before the answer was whole\.$/],
    ["half a header", "HTTP/1.1 200 OK\r\ncontent-le", "dropped", /before the answer was whole\.$/],
    [
      "half a body",
      "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
      "dropped",
      /before the answer was whole\.$/,
    ],
    [
      "half a chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{",
      "dropped",
      /was whole\.$/,
    ],
    [
      "a wrong chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
      "dropped",
      /was whole\.$/,
    ],
    [
      "10 MB of headers",
      `HTTP/1.1 200 OK\r\nx: ${"x".repeat(10_000_000)}\r\n\r\n`,
      "not-http",
      /^The headers of what \S+ answered are too large\.$/,
    ],
    [
      "another protocol",
      "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      "not-http",
      /was not HTTP\.$/,
    ],
  ];
  for (const [what, text, kind, message] of odd) {
    it(`tells plainly when the answer is ${what}`, async () => {
      await using there = await listening(saying(text));
      const error = await fault(clientOf(`http://${there.host}`).org(never));
      assert.deepEqual([error.fault, message.test(error.message)], [kind, true], error.message);
    });
  }

  it("guesses that a service speaks TLS when it closes a plain connection", async () => {
    await using there = await listening(saying(""));
    const error = await fault(clientOf(`http://${there.host}`).org(never));
    assert.match(error.next, /one that speaks TLS needs https:\/\/ in the base URL/);
  });
});
