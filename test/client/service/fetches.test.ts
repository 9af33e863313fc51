import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { remoteFetch } from "../../../src/client/service/remoteFetch.ts";
import type { Fetch, FetchResponse } from "../../../src/client/service/request.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { itOn } from "../../itOn.ts";
import { LoopbackService, orgOnWire, sendJson, testKey } from "../loopbackService.ts";

const never = new AbortController().signal;

/** The tool's two: for this machine's own service, and for every other. */
const fetches: [string, () => Fetch][] = [
  ["node:http", loopbackFetch],
  ["undici", () => remoteFetch(new URL("https://service.example/"), {})],
];

function clientOf(origin: string, fetch: Fetch, clock = new FakeClock()): ServiceClient {
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
function get(fetch: Fetch, url: string, signal = never): Promise<FetchResponse> {
  return fetch(new URL(url), { method: "GET", headers: {}, redirect: "manual", cache: "no-store", signal });
}

async function textOf({ body }: FetchResponse): Promise<string> {
  return body === null ? "" : text(body);
}

const odd: [string, string, OutOfReach["fault"] | undefined, RegExp][] = [
  ["a status that there isn't", "HTTP/1.1 999 Odd\r\n\r\n", "unavailable", /answered 999/],
  ["no HTTP", "SSH-2.0-OpenSSH_9\r\n", "not-http", /was not HTTP\.$/],
  ["nothing", "", "dropped", /closed the connection before the answer was whole\.$/],
  ["half a header", "HTTP/1.1 200 OK\r\ncontent-le", "dropped", /before the answer was whole\.$/],
  ["half a body", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "dropped", /the answer was whole\.$/],
  ["half a chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{", "dropped", /whole\.$/],
  // What is wrong in the middle, one takes for an end and the other for no HTTP.
  [
    "a wrong chunk",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    undefined,
    /whole\.$|not HTTP\.$/,
  ],
  [
    "10 MB of headers",
    `HTTP/1.1 200 OK\r\nx: ${"x".repeat(10_000_000)}\r\n\r\n`,
    "not-http",
    /^The headers of what \S+ answered are too large\.$/,
  ],
];

for (const [name, make] of fetches) {
  describe(`the tool's fetch by ${name}`, () => {
    it("sends and brings what the editor's does", async () => {
      await using service = await LoopbackService.listen((_, response) => {
        response.setHeader("set-cookie", ["a=1", "b=2"]);
        sendJson(response, 418, { text: "ü" });
      });
      const requests: readonly Fetch[] = [make(), fetch];
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
        const values = names.map((header) => answer.headers.get(header));
        assert.deepEqual(values, ["a=1, b=2", "application/json", null]);
        assert.deepEqual(JSON.parse(await textOf(answer)), { text: "ü" });
      }
      const [mine, editors] = service.asked;
      assert.ok(mine !== undefined && editors !== undefined);
      assert.deepEqual([mine.method, mine.path, mine.body], [editors.method, editors.path, editors.body]);
      for (const header of ["host", "x-a", "content-type", "content-length"]) {
        assert.equal(mine.headers[header], editors.headers[header], header);
      }
    });

    it("brings an answer without a body", async () => {
      for (const status of [204, 205, 304]) {
        await using service = await LoopbackService.listen(
          (_, response) => void response.writeHead(status).end(),
        );
        const answer = await get(make(), service.origin);
        assert.deepEqual([answer.status, await textOf(answer)], [status, ""]);
      }
    });

    it("asks over a connection that is kept", async () => {
      let connections = 0;
      const server = createHttpServer((_, response) => sendJson(response, 200, orgOnWire));
      server.on("connection", () => {
        connections += 1;
      });
      await using there = await listening(server);
      const client = clientOf(`http://${there.host}`, make());
      for (let times = 0; times < 6; times++) await client.org(never);
      assert.ok(connections <= 2, `${connections}`);
    });

    it("reaches an IPv6 address", async () => {
      const server = createHttpServer((_, response) => sendJson(response, 200, orgOnWire));
      await using there = await listening(server, "::1");
      assert.equal((await clientOf(`http://${there.host}`, make()).org(never)).orgName, "Lamps");
    });

    it("closes the connection in whatever stage it is stopped, and leaves no timer", async () => {
      const clock = new FakeClock();
      await using service = await LoopbackService.listen((_, response) => {
        if (service.asked.length > 1) response.writeHead(200).write("{");
      });
      const client = clientOf(service.origin, make(), clock);
      const reason = new Error("enough");
      await assert.rejects(client.org(AbortSignal.abort(reason)), reason);
      for (const times of [1, 2]) {
        const stop = new AbortController();
        const asked = client.org(stop.signal);
        await service.until(() => service.asked.length === times);
        stop.abort(reason);
        await assert.rejects(asked, reason);
        await service.until(() => service.left === times);
      }
      assert.equal(clock.alarms, 0);
    });

    for (const [what, text, kind, message] of odd) {
      it(`tells plainly when the answer is ${what}`, async () => {
        const server = createServer((socket) => void socket.once("data", () => socket.end(text)));
        await using there = await listening(server);
        const error = await fault(clientOf(`http://${there.host}`, make()).org(never));
        assert.match(error.message, message);
        if (kind !== undefined) assert.equal(error.fault, kind);
      });
    }

    it("guesses that a service speaks TLS when it closes a plain connection", async () => {
      const server = createServer((socket) => void socket.once("data", () => socket.end()));
      await using there = await listening(server);
      const error = await fault(clientOf(`http://${there.host}`, make()).org(never));
      assert.match(error.next, /one that speaks TLS needs https:\/\/ in the base URL/);
    });
  });
}

describe("the tool's fetch", () => {
  it("gives up on a host that takes the connection and agrees on no TLS", async () => {
    await using there = await listening(createServer((socket) => socket.resume()));
    const fetch = remoteFetch(new URL(`https://${there.host}/`), {}, 1);
    const options = { waitSeconds: 120, idempotencyKey: "k" };
    const clock = new FakeClock();
    const client = clientOf(`https://${there.host}`, fetch, clock);
    const error = await fault(client.start({ pipeline: "a" }, options, never));
    assert.equal(error.message, `${there.host} did not answer in time.`);
    assert.equal(clock.alarms, 0);
  });

  it("keeps no program from ending: neither by a kept connection nor by one that is still being made", async () => {
    const answering = createHttpServer({ keepAliveTimeout: 0 }, (_, response) =>
      sendJson(response, 200, orgOnWire),
    );
    const silent = createServer((socket) => socket.resume());
    await using own = await listening(answering);
    await using other = await listening(silent);
    const printed = await programThatLeaves(`http://${own.host}/`, [
      [`https://${other.host}/`, {}],
      ["https://service.example/", { HTTPS_PROXY: `http://${other.host}` }],
    ]);
    assert.equal(printed, "200\nstopped\nstopped\n[]");
  });

  itOn("linux", "keeps no program from ending by a service or a proxy that never accepts", async () => {
    await using own = await listening(createHttpServer((_, response) => sendJson(response, 200, orgOnWire)));
    await using deaf = await neverAccepting();
    const printed = await programThatLeaves(`http://${own.host}/`, [
      [`https://${deaf.host}/`, {}],
      ["https://service.example/", { HTTPS_PROXY: `http://${deaf.host}` }],
    ]);
    assert.equal(printed, "200\nstopped\nstopped\n[]");
  });
});

/** What a program prints that asks once, is told to stop at each of the others, and then has nothing left to do: of a connection no more than one that keeps no program alive. */
async function programThatLeaves(
  own: string,
  others: readonly [address: string, env: Record<string, string>][],
): Promise<string> {
  const module = JSON.stringify(join(projectRoot, "src/client/service/environmentFetch.ts"));
  const program = `import { subscribe } from "node:diagnostics_channel";
    import { environmentFetch } from ${module};
    const ask = async (address, env, signal) => {
      const url = new URL(address);
      const answer = await environmentFetch(url, env)(url, { method: "GET", headers: {}, signal });
      for await (const _ of answer.body);
      console.log(answer.status);
    };
    await ask("${own}", {}, new AbortController().signal);
    for (const [address, env] of ${JSON.stringify(others)}) {
      const stop = new AbortController();
      subscribe("net.client.socket", () => setImmediate(() => stop.abort(new Error("stopped"))));
      await ask(address, env, stop.signal).catch((error) => console.log(error.message));
    }
    await new Promise(setImmediate);
    console.log(process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout|Immediate/.test(name)));`;
  const { stdout } = await execa(process.execPath, ["--input-type=module", "--eval", program], {
    timeout: 60_000,
  });
  return stdout;
}

/** A port whose program takes no connection, and whose queue of them is full: Linux has room for one more than asked. */
async function neverAccepting(): Promise<{ host: string } & AsyncDisposable> {
  const program = `require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
    require("node:fs").writeSync(1, this.address().port + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
  const running = execa(process.execPath, ["--eval", program], { reject: false, forceKillAfterDelay: false });
  const [line] = await once(running.stdout, "data");
  const port = Number(String(line));
  const queued: Socket[] = [];
  for (let room = 2; room > 0; room--) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    queued.push(socket);
    await once(socket, "connect");
  }
  return {
    host: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of queued) socket.destroy();
      running.kill("SIGKILL");
      await running;
    },
  };
}
