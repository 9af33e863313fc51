import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { createHttpServer } from "../../../src/service/http/httpServer.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { bareApp } from "../bareApp.ts";
import { fillDay } from "../fillDay.ts";
import { errorTypeOf, parseReply, rawExchange } from "../rawExchange.ts";
import { startedCore } from "../startedCore.ts";
import { programPipeline, startedService, untilCancelled } from "../startedService.ts";

describe("the headers of replies", () => {
  it("keep every reply, good or bad, out of caches, frames and other sites' pages", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const key = { "x-api-key": secret };
    const replies = await Promise.all([
      service.fetch("/healthz"),
      service.fetch("/openapi.json"),
      service.fetch("/api/org", { headers: key }),
      service.fetch("/api/org"),
      service.fetch("/api/runs/none", { headers: key }),
      service.fetch("/nowhere"),
      service.fetch("/healthz", { method: "DELETE" }),
      service.fetch("/api/runs", { method: "POST", headers: key, body: "{" }),
      service.fetch("/healthz", { headers: { origin: "http://evil.example" } }),
    ]);
    const raw = parseReply(await rawExchange(service.url, "NONSENSE\r\n\r\n"));
    for (const headers of [...replies.map((reply) => reply.headers), raw.headers]) {
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("x-frame-options"), "DENY");
      assert.match(
        headers.get("content-security-policy") ?? "",
        /default-src 'none'.*frame-ancestors 'none'/,
      );
      assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
      assert.equal(headers.get("referrer-policy"), "same-origin");
      assert.equal(headers.get("cache-control"), "no-store");
      assert.match(headers.get("content-type") ?? "", /^application\/json/);
      assert(!Number.isNaN(Date.parse(headers.get("date") ?? "")));
      for (const name of ["access-control-allow-origin", "server", "x-powered-by"])
        assert(!headers.has(name), name);
    }
    for (const { body } of replies) await body?.cancel();
  });

  it("let no proxy keep a stream's pieces back", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    for (const method of ["GET", "HEAD"]) {
      const reply = await service.fetch("/api/events", { method, headers: { "x-api-key": secret } });
      assert.equal(reply.headers.get("x-accel-buffering"), "no");
      await reply.body?.cancel();
    }
  });

  it("tell the day's runs on the org, on a start and on both refusals", async () => {
    const clock = new FakeClock("2026-03-04T22:46:39Z");
    await using service = await startedService({ clock });
    const { secret, orgId } = await service.member();
    const key = { "x-api-key": secret };
    await service.write("long", programPipeline(untilCancelled));
    const told = async (reply: Response) => {
      await reply.text();
      const { headers, status } = reply;
      return [status, headers.get("ratelimit"), headers.get("ratelimit-policy"), headers.get("retry-after")];
    };
    const start = () =>
      service.fetch("/api/runs", { method: "POST", headers: key, body: '{"pipeline":"long"}' });
    const policy = '"free-day";q=50;w=86400';
    const org = () => service.fetch("/api/org", { headers: key });
    assert.deepEqual(await told(await org()), [200, '"free-day";r=50;t=4401', policy, null]);
    assert.deepEqual(await told(await start()), [201, '"free-day";r=49;t=4401', policy, null]);
    // Nobody knows when the slot comes free, so no time is named: a client keeps its own growing pauses.
    assert.deepEqual(await told(await start()), [429, '"free-day";r=49;t=4401', policy, null]);
    clock.advance(1_000);
    await fillDay(service.data, 60, clock.now(), orgId);
    assert.deepEqual(await told(await start()), [429, '"free-day";r=0;t=4400', policy, "4400"]);
    clock.advance(4_400_000);
    assert.deepEqual(await told(await org()), [200, '"free-day";r=50;t=86400', policy, null]);
  });

  it("name the header that the key goes into when there is none or a wrong one", async () => {
    await using service = await startedService();
    for (const headers of [{}, { "x-api-key": "nonsense" }]) {
      const reply = await service.fetch("/api/org", { headers });
      assert.equal(reply.status, 401);
      assert.equal(reply.headers.get("www-authenticate"), 'ApiKey realm="pipeline-runs", header="x-api-key"');
      assert.equal(errorTypeOf(await reply.json()), "unauthorized");
    }
  });

  it("name the methods that a path is there for", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const cases = [
      ["DELETE", "/healthz", "GET, HEAD"],
      ["POST", "/api/org", "GET, HEAD"],
      ["PUT", "/api/runs", "GET, HEAD, POST"],
      ["GET", "/api/runs/run_1/cancel", "POST"],
      ["POST", "/api/projects/x", "DELETE, PUT"],
      ["PATCH", "/api/keys", "GET, HEAD, POST"],
      ["OPTIONS", "/api/org", "GET, HEAD"],
    ] as const;
    for (const [method, path, allow] of cases) {
      const reply = await service.fetch(path, { method, headers: { "x-api-key": secret } });
      assert.equal(reply.status, 405, `${method} ${path}`);
      assert.equal(reply.headers.get("allow"), allow);
      assert.equal(errorTypeOf(await reply.json()), "invalid-request");
    }
    for (const path of ["/api/nothing", "/api/runs/", "/api/runs//cancel", "/nothing", "/api"]) {
      const reply = await service.fetch(path, { headers: { "x-api-key": secret } });
      assert.equal(reply.status, 404, path);
      assert.equal(errorTypeOf(await reply.json()), "not-found");
    }
  });

  it("answer HEAD like GET without a body, also for a stream", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    for (const path of ["/api/org", "/api/events", "/healthz"]) {
      const asked = `HEAD ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${secret}\r\nconnection: close\r\n\r\n`;
      const text = await rawExchange(service.url, asked);
      assert.match(text, /^HTTP\/1\.1 200 /, path);
      assert.match(text, /\r\n\r\n$/);
    }
  });

  it("feed no stream that was only asked for its headers", async () => {
    await using started = await startedCore("2026-03-04T12:00:00Z");
    const { bus } = started.core;
    const { secret } = await started.key();
    const server = createHttpServer(bareApp(started));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/events`;
    const headers = { "x-api-key": secret };
    await fetch(url, { method: "HEAD", headers });
    assert.equal(bus.subscribers, 0);
    const stream = await fetch(url, { headers });
    assert.equal(bus.subscribers, 1);
    await stream.body?.cancel();
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  it("let no other origin's page in: a preflight is answered without a word of CORS", async () => {
    await using service = await startedService();
    for (const origin of ["http://evil.example", new URL(service.url).origin]) {
      const reply = await service.fetch("/api/runs", {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-api-key",
        },
      });
      assert(reply.status === 401 || reply.status === 403, String(reply.status));
      for (const name of reply.headers.keys()) assert.doesNotMatch(name, /^access-control-/);
      await reply.text();
    }
  });

  it("don't ask for a content type: whatever is JSON is read, and nothing else", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded", undefined]) {
      const headers = { "x-api-key": secret, ...(type === undefined ? {} : { "content-type": type }) };
      const reply = await service.fetch("/api/runs", {
        method: "POST",
        headers,
        body: new TextEncoder().encode('{"pipeline":"none"}'),
      });
      assert.equal(reply.status, 404, type);
      await reply.text();
    }
  });
});
