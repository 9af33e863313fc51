import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { Hono } from "hono";
import { systemClock } from "../../../src/machine/clock.ts";
import type { AppEnv } from "../../../src/service/http/everyRequest.ts";
import { connectionLimits, createHttpServer } from "../../../src/service/http/httpServer.ts";
import { OpenReplies } from "../../../src/service/http/openReplies.ts";
import { errorTypeOf, parseReply, rawExchange } from "../rawExchange.ts";
import { startedService } from "../startedService.ts";

/** The real server with other limits, over an app that says how long the body was that it got. */
async function serverWith(limits: Partial<Record<keyof typeof connectionLimits, number>>) {
  const app = new Hono<AppEnv>();
  app.all("*", async (context) => context.text(String((await context.req.text()).length)));
  app.onError((_, context) => context.text("left", 400));
  const server = createHttpServer({
    app,
    replies: new OpenReplies(),
    clock: systemClock,
    log: () => {},
    limits: { ...connectionLimits, ...limits },
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

describe("what a request may take up", () => {
  it("is a body of 64 KiB, however its length is told", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const head = `PUT /api/projects/shop HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\nconnection: close\r\n`;
    const ask = async (rest: string) => parseReply(await rawExchange(service.url, head + rest));
    const chunk = `${(16 * 1024).toString(16)}\r\n${"x".repeat(16 * 1024)}\r\n`;
    const chunked = "transfer-encoding: chunked\r\n\r\n";
    const fits = await ask(`${chunked}${chunk.repeat(4)}0\r\n\r\n`);
    assert.equal(fits.status, 400);
    for (const large of [
      `${chunked}${chunk.repeat(5)}0\r\n\r\n`,
      `${chunked}${chunk.repeat(5)}`,
      "content-length: 65537\r\n\r\n",
    ]) {
      const { status, body } = await ask(large);
      assert.equal(status, 413);
      assert.equal(errorTypeOf(body), "payload-too-large");
    }
  });

  it("has one length: two, a false one and a broken one are refused", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const head = `POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\n`;
    for (const lengths of [
      "content-length: 2\r\ntransfer-encoding: chunked\r\n",
      "content-length: 2\r\ncontent-length: 3\r\n",
      "content-length: -1\r\n",
      "content-length: 0x10\r\n",
      "transfer-encoding: chunked, identity\r\n",
    ]) {
      const { status, body } = parseReply(await rawExchange(service.url, `${head}${lengths}\r\n{}`));
      assert.equal(status, 400, lengths);
      assert.equal(errorTypeOf(body), "invalid-request");
    }
    // What follows a body is another request, and this is none: it may not be taken for the answer to the first.
    const after = await rawExchange(service.url, `${head}content-length: 2\r\n\r\n{}garbage\r\n\r\n`);
    assert.equal(after, "");
    // Whoever says more than it sends, and leaves, has asked for nothing.
    await rawExchange(service.url, (socket) =>
      socket.end(`${head}content-length: 100\r\n\r\n{"pipeline":"x"}`),
    );
    assert.equal((await service.fetch("/healthz")).status, 200);
  });

  it("is 16 KiB of headers, 100 of them, and a target of 4096 characters", async () => {
    await using service = await startedService();
    const ask = async (target: string, headers: string) =>
      parseReply(
        await rawExchange(
          service.url,
          `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${headers}\r\n`,
        ),
      );
    assert.equal((await ask("/healthz", "a: b\r\n".repeat(98))).status, 200);
    const refused = [
      [431, await ask("/healthz", "a: b\r\n".repeat(99))],
      [431, await ask("/healthz", "a: b\r\n".repeat(2_500))],
      [431, await ask("/healthz", `a: ${"x".repeat(20_000)}\r\n`)],
      [414, await ask(`/healthz?${"x".repeat(4_096)}`, "")],
      [431, await ask(`/${"x".repeat(20_000)}`, "")],
      [417, await ask("/healthz", "expect: a-miracle\r\n")],
    ] as const;
    for (const [status, reply] of refused) {
      assert.equal(reply.status, status);
      assert.equal(errorTypeOf(reply.body), "invalid-request");
      assert.equal(reply.headers.get("cache-control"), "no-store");
    }
  });

  it("is a time: headers that drip in, and a body that does, are cut off with a word", async () => {
    await using server = await serverWith({
      headersTimeout: 200,
      requestTimeout: 400,
      connectionsCheckingInterval: 50,
    });
    const drip = (begin: string) =>
      rawExchange(server.url, (socket) => {
        socket.write(begin);
        const timer = setInterval(() => socket.write("x"), 20);
        socket.once("close", () => clearInterval(timer));
      });
    for (const begin of [
      "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\na: ",
      "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n",
    ]) {
      const { status, body } = parseReply(await drip(begin));
      assert.equal(status, 408);
      assert.equal(errorTypeOf(body), "invalid-request");
    }
  });

  it("is a connection while there are some left, and another's once it leaves", async () => {
    await using server = await serverWith({ maxConnections: 1 });
    const { port } = new URL(server.url);
    const first = connect(Number(port), "127.0.0.1");
    const request = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    first.write(request);
    await once(first, "data");
    assert.equal(await rawExchange(server.url, request), "");
    first.write(request);
    assert.match(String((await once(first, "data"))[0]), /^HTTP\/1\.1 200 /);
    first.end();
    await once(first, "close");
    const close = request.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    assert.match(await rawExchange(server.url, close), /^HTTP\/1\.1 200 /);
  });

  it("may come in a row on one connection, and is answered in that order", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const get = (path: string, more = "") =>
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\n${more}\r\n`;
    const text = await rawExchange(
      service.url,
      `${get("/api/org")}${get("/api/runs/none")}${get("/healthz")}${get("/nowhere", "connection: close\r\n")}`,
    );
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status),
      ["200", "404", "200", "404"],
    );
  });

  it("never gets an error written into the stream of another reply", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const asked = `GET /api/events HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\n\r\n`;
    const text = await rawExchange(service.url, (socket) => {
      socket.write(asked);
      socket.once("data", () => socket.write("garbage\r\n\r\n"));
    });
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1);
  });

  it("is turned away in JSON also where the bytes are no HTTP at all", async () => {
    await using service = await startedService();
    for (const bytes of [
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "hello\r\n\r\n",
    ]) {
      const { status, body, headers } = parseReply(await rawExchange(service.url, bytes));
      assert.equal(status, 400, JSON.stringify(bytes));
      assert.equal(errorTypeOf(body), "invalid-request");
      assert.equal(headers.get("connection"), "close");
    }
  });
});
