import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { eventStream } from "../../src/client/follow/events.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import { Connection, HttpSession, routeOf } from "../../src/runner/http/connection.ts";
import { largestReply, sendRequest } from "../../src/runner/http/sendRequest.ts";

const unpacked = 256 * 1024 * 1024;
const never = new AbortController().signal;
/** A resource that says nothing of its connections. */
const straight = { connection: { tls: { verify: true }, connectTo: {} }, address: { target: "" } };

async function serving(answer: RequestListener) {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("an answer that unpacks to far more than was sent", () => {
  const bombs = new Map<string, Buffer>();
  before(() => {
    const zeros = Buffer.alloc(unpacked);
    bombs.set("gzip", gzipSync(zeros, { level: 1 }));
    bombs.set("br", brotliCompressSync(zeros, { params: { 1: 1 } }));
  });
  const bombing = (encoding: string) =>
    serving((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
      response.end(bombs.get(encoding));
    });

  for (const encoding of ["gzip", "br"]) {
    it(`is read to its bound, however small it was packed: a step's reply, ${encoding}`, async () => {
      await using server = await bombing(encoding);
      await using connection = new Connection(await routeOf(straight, "/"));
      const request = { method: "GET", url: server.url, headers: {}, body: undefined };
      const before = process.memoryUsage.rss();
      const reply = await sendRequest(
        { ...request, redirects: 10 },
        {
          connection,
          session: new HttpSession(),
          show: (address) => address,
          onRedirect: () => {},
          isEnough: () => false,
          late: undefined,
          hashes: false,
          timeout: never,
        },
        never,
      );
      assert.deepEqual([reply.bytes.length, reply.isCut], [largestReply, true]);
      assert.ok(process.memoryUsage.rss() - before < unpacked / 2, "it was not unpacked as a whole");
    });

    it(`is read to its bound, however small it was packed: a service's answer in the editor, ${encoding}`, async () => {
      await using server = await bombing(encoding);
      const client = new ServiceClient({ baseUrl: server.url, apiKey: "secret-of-a-test" });
      const before = process.memoryUsage.rss();
      await assert.rejects(client.org(never), { message: /larger than 4 MiB/ });
      assert.ok(process.memoryUsage.rss() - before < unpacked / 2, "it was not unpacked as a whole");
    });
  }

  it("is given up where it is one event without end", async () => {
    await using server = await serving((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      response.end(gzipSync(Buffer.concat([Buffer.from("data: "), Buffer.alloc(32 * 1024 * 1024, "x")])));
    });
    const client = new ServiceClient({ baseUrl: server.url, apiKey: "secret-of-a-test" });
    await assert.rejects(
      async () => {
        for await (const item of eventStream(client, "api/events", "own", {}, never)) assert.ok(item);
      },
      { message: /larger than 4 MiB/ },
    );
  });
});
