import assert from "node:assert/strict";
import { createServer } from "node:net";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { OutOfReach, outOfReach } from "../../../src/client/service/reachFaults.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { LoopbackService, orgOnWire, testKey } from "../loopbackService.ts";

const never = new AbortController().signal;

describe("a service out of reach", () => {
  it("is told by its host and the plain reason when nobody listens", async () => {
    const service = await LoopbackService.listen(() => undefined);
    const client = service.client(new FakeClock());
    const { host } = client.baseUrl;
    await service[Symbol.asyncDispose]();
    await assert.rejects(client.org(never), (error) => {
      assert.ok(error instanceof OutOfReach);
      assert.equal(error.fault, "refused");
      assert.equal(error.message, `Nothing listens at ${host}: the connection was refused.`);
      assert.ok(error.cause instanceof Error);
      return true;
    });
  });

  it("is told when it takes longer than 10 s to answer, and is not waited for", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen(() => undefined);
    const asked = service.client(clock).org(never);
    await service.until(() => service.asked.length === 1);
    clock.advance(9999);
    assert.equal(service.left, 0);
    clock.advance(1);
    await assert.rejects(asked, { fault: "timed-out", message: / did not answer within 10 s\.$/ });
    await service.until(() => service.left === 1);
    assert.equal(clock.alarms, 0);
  });

  it("is told when the answer begins but takes longer than 10 s", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"org-id":');
    });
    const counted: typeof fetch = async (...told) => {
      const response = await fetch(...told);
      clock.advance(10_000);
      return response;
    };
    await assert.rejects(service.client(clock, { fetch: counted }).org(never), { fault: "timed-out" });
    await service.until(() => service.left === 1);
  });

  it("may hold a start as long as it was allowed to, and 15 s more", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen(() => undefined);
    const options = { waitSeconds: 120, idempotencyKey: "k" };
    const started = service.client(clock).start({ pipeline: "a" }, options, never);
    await service.until(() => service.asked.length === 1);
    clock.advance(134_999);
    assert.equal(clock.alarms, 1);
    clock.advance(1);
    await assert.rejects(started, { fault: "timed-out" });
  });

  it("is told when the connection is dropped before or in the middle of the answer", async () => {
    for (const beginning of ["", '{"org-id":']) {
      await using service = await LoopbackService.listen((_, response) => {
        if (beginning === "") return void response.destroy();
        response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
        response.write(beginning, () => response.destroy());
      });
      await assert.rejects(service.client(new FakeClock()).org(never), {
        fault: "dropped",
        message: / closed the connection before the answer was whole\.$/,
      });
    }
  });

  it("is told when what answers is not HTTP", async () => {
    const server = createServer(
      (socket) =>
        void socket
          .on("error", () => undefined)
          .resume()
          .end("220 mail ready\r\n\r\n"),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const client = new ServiceClient({
      baseUrl: new URL(`http://127.0.0.1:${port}/`),
      apiKey: testKey,
      clock: new FakeClock(),
    });
    await assert.rejects(client.org(never), { fault: "not-http", message: /was not HTTP\.$/ });
    await new Promise((resolve) => server.close(resolve));
  });

  it("is told when it speaks no TLS", async () => {
    await using service = await LoopbackService.listen(() => undefined);
    const baseUrl = new URL(`${service.origin.replace("http", "https")}/`);
    const client = new ServiceClient({ baseUrl, apiKey: testKey, clock: new FakeClock() });
    await assert.rejects(client.org(never), { fault: "tls", message: /speaks no TLS\.$/ });
  });

  describe("has words for the reason", () => {
    const service = {
      baseUrl: new URL("https://pipelines.example.com/x/"),
      apiKey: testKey,
      fetch,
      clock: new FakeClock(),
    };
    const reasons: [string, string, string][] = [
      ["ENOTFOUND", "no-such-host", "The name of pipelines.example.com was not found."],
      ["EAI_AGAIN", "no-such-host", "The name of pipelines.example.com was not found."],
      ["EHOSTUNREACH", "no-route", "The network has no way to pipelines.example.com."],
      ["ETIMEDOUT", "timed-out", "pipelines.example.com did not answer in time."],
      ["UND_ERR_CONNECT_TIMEOUT", "timed-out", "pipelines.example.com did not answer in time."],
      ["ECONNRESET", "dropped", "pipelines.example.com closed the connection before the answer was whole."],
      [
        "CERT_HAS_EXPIRED",
        "tls",
        "The certificate of pipelines.example.com can't be trusted: it has expired.",
      ],
      [
        "DEPTH_ZERO_SELF_SIGNED_CERT",
        "tls",
        "The certificate of pipelines.example.com can't be trusted: it is signed by itself.",
      ],
      [
        "ERR_TLS_CERT_ALTNAME_INVALID",
        "tls",
        "The certificate of pipelines.example.com can't be trusted: it is for another host.",
      ],
    ];
    for (const [code, fault, message] of reasons) {
      it(code, () => {
        const socketError = Object.assign(new Error("below"), { code });
        const cause = new TypeError("fetch failed", { cause: new AggregateError([socketError]) });
        const error = outOfReach(service, cause);
        assert.deepEqual([error.fault, error.message, error.cause], [fault, message, cause]);
      });
    }

    it("of any other kind, without the key", () => {
      const error = outOfReach(
        service,
        new TypeError("fetch failed", { cause: new Error(`odd ${testKey}`) }),
      );
      assert.equal(error.message, "The exchange with pipelines.example.com failed: odd (the API key).");
    });
  });

  it("is no error when the caller stops: the connection is closed and the reason is the caller's", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen((_, response) => {
      response.writeHead(200).write(JSON.stringify(orgOnWire).slice(0, 9));
    });
    const stop = new AbortController();
    const asked = service.client(clock).org(stop.signal);
    await service.until(() => service.asked.length === 1);
    const reason = new Error("changed my mind");
    stop.abort(reason);
    await assert.rejects(asked, reason);
    await service.until(() => service.left === 1);
    assert.equal(clock.alarms, 0);
  });
});
