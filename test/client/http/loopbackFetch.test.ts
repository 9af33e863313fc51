import assert from "node:assert/strict";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import fc from "fast-check";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import type { Fetch } from "../../../src/client/http/fetch.ts";
import { loopbackFetch } from "../../../src/client/http/loopbackFetch.ts";
import { nodeFetch } from "../../../src/client/http/nodeFetch.ts";
import { OutOfReach } from "../../../src/client/http/outOfReach.ts";
import { readPlainReply } from "../../../src/client/http/plainReply.ts";
import { ServiceClient } from "../../../src/client/http/serviceClient.ts";
import { FakeClock } from "../fakeClock.ts";
import { LoopbackService, orgOnWire, testKey } from "../loopbackService.ts";

const never = new AbortController().signal;
const json = { accept: "application/json" };

/** The fetch, and what it left to the other one. */
function fetches() {
  const left: string[] = [];
  const node = nodeFetch({ proxy: undefined });
  const others: Fetch = (url, request) => {
    left.push(url.pathname);
    return node(url, request);
  };
  return { fetch: loopbackFetch(others), left };
}

async function get(fetch: Fetch, url: string, signal = never, headers: Record<string, string> = json) {
  const request = { method: "GET", headers, redirect: "manual", cache: "no-store", signal } as const;
  const answer = await fetch(new URL(url), request);
  return { ...answer, text: answer.body === null ? "" : await text(answer.body) };
}

/** A program that answers each request over any connection with these bytes, and counts the connections. */
async function saying(answer: (socket: Socket, times: number) => void) {
  const sockets = new Set<Socket>();
  let times = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("data", () => answer(socket, times++));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    origin: `http://127.0.0.1:${address.port}`,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** With the length in the head, as this machine's own service answers. */
function sendWhole(response: ServerResponse, status: number, value: unknown): void {
  response.statusCode = status;
  response.setHeader("content-type", "application/json").end(JSON.stringify(value));
}

const plain = (body: string, more = "") =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;

describe("the fetch for this machine's own service", () => {
  it("sends and brings what the other one does, errors too", async () => {
    await using service = await LoopbackService.listen(({ path }, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      sendWhole(response, path === "/x?y=%20z" ? 200 : 418, { text: "ü".repeat(40_000) });
    });
    const { fetch, left } = fetches();
    const requests: readonly Fetch[] = [fetch, nodeFetch({ proxy: undefined })];
    for (const path of ["/x?y= z", "/other"]) {
      const answers = await Promise.all(
        requests.map(async (request) => {
          const { status, text, headers } = await get(request, `${service.origin}${path}`, never, {
            ...json,
            "x-api-key": "k",
          });
          const names = ["Set-Cookie", "content-type", "x-missing", "content-length"];
          return { status, text, values: names.map((name) => headers.get(name)) };
        }),
      );
      assert.deepEqual(answers[0], answers[1]);
      assert.equal(answers[0]?.values[0], "a=1, b=2");
      const [one, other] = service.asked.splice(0);
      assert.deepEqual(one, other);
    }
    assert.deepEqual(left, []);
  });

  it("asks over one connection as long as it is kept, and over another when it isn't", async () => {
    await using there = await saying((socket, times) => {
      if (times === 2) socket.end(plain("{}"));
      else if (times === 4) socket.write(plain("{}", "Connection: close\r\n"));
      else socket.write(plain("{}"));
    });
    const { fetch, left } = fetches();
    const counts: number[] = [];
    for (let times = 0; times < 7; times++) {
      assert.equal((await get(fetch, there.origin)).text, "{}");
      counts.push(there.connections());
      // What the other side closes is heard of in a later turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([counts.slice(0, 3), counts.at(-1)], [[1, 1, 1], 3]);
    assert.ok(left.length <= 1, "a connection that closes as it is asked over costs one more question");
  });

  it("asks again elsewhere when a kept connection turns out to be closed", async () => {
    await using there = await saying((socket, times) =>
      times === 1 ? socket.destroy() : socket.write(plain("{}")),
    );
    const { fetch, left } = fetches();
    for (let times = 0; times < 2; times++) assert.equal((await get(fetch, there.origin)).status, 200);
    assert.deepEqual(left, ["/"]);
  });

  it("leaves to the other one what is no short question, and what comes while it is asking", async () => {
    await using service = await LoopbackService.listen((_, response) => sendWhole(response, 200, {}));
    const { fetch, left } = fetches();
    const post = { method: "POST", headers: json, redirect: "manual", cache: "no-store" } as const;
    await fetch(new URL("/post", service.origin), { ...post, signal: never, body: "{}" });
    await get(fetch, `${service.origin}/events`, never, { accept: "text/event-stream" });
    await assert.rejects(get(fetch, service.origin, never, { ...json, "x-a": "1\r\nx-b: 2" }), /header/);
    assert.deepEqual(left.splice(0), ["/post", "/events", "/"]);
    await Promise.all([get(fetch, `${service.origin}/one`), get(fetch, `${service.origin}/two`)]);
    assert.deepEqual(left, ["/two"]);
  });

  const odd: [string, string, OutOfReach["fault"] | undefined][] = [
    ["in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", undefined],
    ["of HTTP 1.0", "HTTP/1.0 200 OK\r\n\r\n{}", undefined],
    ["after another", `HTTP/1.1 103 Early Hints\r\n\r\n${plain("{}")}`, undefined],
    ["without a length", "HTTP/1.1 200 OK\r\n\r\n{}", undefined],
    ["of two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", "not-http"],
    ["a folded header", "HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 2\r\n\r\n{}", "not-http"],
    ["a status that there isn't", "HTTP/1.1 999 Odd\r\n\r\n", "not-http"],
    ["no HTTP", "SSH-2.0-OpenSSH_9\r\n", "not-http"],
    ["nothing", "", "dropped"],
    ["half a header", "HTTP/1.1 200 OK\r\ncontent-le", "dropped"],
    ["half a body", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "dropped"],
    ["10 MB of headers", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(10_000_000)}\r\n\r\n`, "not-http"],
  ];
  for (const [what, answer, fault] of odd) {
    it(`comes to what the other one does when the answer is ${what}`, async () => {
      await using there = await saying((socket) => socket.end(answer));
      for (const fetch of [fetches().fetch, nodeFetch({ proxy: undefined })]) {
        const found = await get(fetch, there.origin).then(
          (got) => got.text,
          (error: Error & { code?: string }) => error.code,
        );
        if (fault === undefined) assert.equal(found, "{}");
        else assert.match(found ?? "", /^(HPE_|ECONNRESET)/);
      }
      const clock = new FakeClock();
      const baseUrl = new URL(`${there.origin}/`);
      const client = new ServiceClient({ baseUrl, apiKey: testKey, clock, fetch: fetches().fetch });
      const error: unknown = await client.org(never).catch((reason: unknown) => reason);
      if (fault !== undefined) assert.equal(error instanceof OutOfReach && error.fault, fault);
      assert.equal(clock.sleeping, 0);
    });
  }

  it("stops with the reason it is given, before or after it has asked, and closes the connection", async () => {
    await using service = await LoopbackService.listen(() => undefined);
    const { fetch, left } = fetches();
    const reason = { not: "an error" };
    await assert.rejects(get(fetch, service.origin, AbortSignal.abort(reason)), (error) => error === reason);
    const stop = new AbortController();
    const asked = get(fetch, service.origin, stop.signal);
    await service.until(() => service.asked.length === 1);
    stop.abort(reason);
    await assert.rejects(asked, (error) => error === reason);
    await service.until(() => service.left === 1);
    assert.deepEqual(left, []);
  });

  it("keeps no program from ending", async () => {
    const server = createHttpServer({ keepAliveTimeout: 0 }, (_, response) =>
      sendWhole(response, 200, orgOnWire),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const module = JSON.stringify(join(projectRoot, "src/client/http/loopbackFetch.ts"));
    const program = `import { loopbackFetch } from ${module};
      const request = { method: "GET", headers: { accept: "application/json" }, signal: new AbortController().signal };
      const { status } = await loopbackFetch(undefined)(new URL("http://127.0.0.1:${address.port}/"), request);
      console.log(status);`;
    try {
      const { stdout } = await execa(process.execPath, ["--input-type=module", "--eval", program], {
        timeout: 60_000,
      });
      assert.equal(stdout, "200");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("a plain reply", () => {
  const bytes = Buffer.from(plain('{"ü": 1}', "X-A: 1\r\nx-a:2 \r\n"));

  it("is read once it is whole, however its bytes come", () => {
    fc.assert(
      fc.property(fc.nat(bytes.length), (length) => {
        const reply = readPlainReply(bytes.subarray(0, length));
        if (length < bytes.length) return reply === undefined;
        assert.deepEqual([reply?.status, reply?.headers.get("x-a"), reply?.staysOpen], [200, "1, 2", true]);
        return Buffer.from(reply?.body ?? []).toString() === '{"ü": 1}';
      }),
    );
  });

  it("is nothing that Node's own parser refuses", () => {
    for (const head of [
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx y: 1",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx : 1",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: a\u0000b",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: a\nb",
      "HTTP/1.1 200 OK\r\ncontent-length: +2",
      "HTTP/1.1 200 OK\r\ncontent-length: 2, 2",
      "HTTP/1.1  200 OK\r\ncontent-length: 2",
      "http/1.1 200 OK\r\ncontent-length: 2",
    ]) {
      assert.throws(() => readPlainReply(Buffer.from(`${head}\r\n\r\n{}`, "latin1")), Error, head);
    }
  });

  it("says that its connection is over when it says so, or when more comes than it announced", () => {
    assert.equal(readPlainReply(Buffer.from(plain("{}", "connection: Close\r\n")))?.staysOpen, false);
    assert.equal(readPlainReply(Buffer.from(`${plain("{}")}x`))?.staysOpen, false);
  });
});
