import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { inspect } from "node:util";
import { eventStream } from "../../../src/client/follow/events.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { remoteFetch } from "../../../src/client/service/remoteFetch.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { certificate, trusting } from "../../certificate.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { ConnectProxy, type ProxyOptions } from "../../connectProxy.ts";
import { itOn } from "../../itOn.ts";
import { type Answer, LoopbackService, orgOnWire, runOnWire, sendJson, testKey } from "../loopbackService.ts";

const authority = certificate({ host: "test authority", isAuthority: true });
const serviceCertificate = certificate({ host: "service.example", issuer: authority });
const never = new AbortController().signal;
const answersOrg: Answer = (_, response) => sendJson(response, 200, orgOnWire);

/** A service named service.example, which only a proxy can reach, and a client that is told of the proxy. */
class Proxied implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly service: LoopbackService;
  readonly proxy: ConnectProxy;
  readonly #scheme: "http" | "https";

  static async listen(answer: Answer, options: ProxyOptions = {}): Promise<Proxied> {
    const service = await LoopbackService.listen(answer, serviceCertificate);
    const proxy = await ConnectProxy.listen(service.port, options);
    return new Proxied(service, proxy, options.certificate === undefined ? "http" : "https");
  }

  private constructor(service: LoopbackService, proxy: ConnectProxy, scheme: "http" | "https") {
    this.service = service;
    this.proxy = proxy;
    this.#scheme = scheme;
  }

  client({ user = "", baseUrl = "https://service.example/" } = {}): ServiceClient {
    return clientThrough(`${this.#scheme}://${user}localhost:${this.proxy.port}`, this.clock, { baseUrl });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    assert.equal(this.clock.alarms, 0, "no timer is left");
    await this.proxy[Symbol.asyncDispose]();
    await this.service[Symbol.asyncDispose]();
  }
}

function clientThrough(
  proxy: string,
  clock: FakeClock,
  { baseUrl = "https://service.example/", connectWithin = 60_000 } = {},
): ServiceClient {
  const url = new URL(baseUrl);
  const fetch = remoteFetch(url, { HTTPS_PROXY: proxy }, connectWithin);
  return new ServiceClient({ baseUrl: url, apiKey: testKey, clock, fetch });
}

async function outOfReach(asked: Promise<unknown>): Promise<OutOfReach> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof OutOfReach) return error;
    throw error;
  }
  return assert.fail("it answered");
}

/** A program on loopback that is no proxy, and does what it is told with each connection. */
async function stranger(
  act: (socket: Socket) => void,
): Promise<{ server: Server; host: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    act(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object");
  return {
    server,
    host: `127.0.0.1:${address?.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a service behind a proxy", () => {
  let trust: Disposable;
  before(() => {
    trust = trusting(authority);
  });
  after(() => trust[Symbol.dispose]());

  it("is asked through a tunnel, in which the proxy sees nothing but the host", async () => {
    await using there = await Proxied.listen(answersOrg);
    assert.equal((await there.client().org(never)).orgName, "Lamps");
    assert.deepEqual(there.proxy.asked, ["service.example:443"]);
    assert.equal(there.service.asked[0]?.headers["x-api-key"], testKey);
    assert.equal(there.service.asked[0]?.headers.host, "service.example");
    for (const secret of [testKey, "x-api-key", "/api/org"]) assert.ok(!there.proxy.seen.includes(secret));
  });

  it("is asked again through a tunnel that is free", async () => {
    await using there = await Proxied.listen(answersOrg);
    const client = there.client();
    for (let times = 0; times < 6; times++) await client.org(never);
    // undici frees one only after the end of an answer was read: a question that follows at once makes a second.
    assert.ok(there.proxy.asked.length <= 2, there.proxy.asked.join());
    assert.equal(there.service.asked.length, 6);
  });

  it("is sent bodies, and told what it answers to them", async () => {
    await using there = await Proxied.listen((_, response) => sendJson(response, 201, runOnWire()));
    const options = { waitSeconds: 0, idempotencyKey: "k" };
    const attempt = await there.client().start({ pipeline: "nächtlich" }, options, never);
    assert.equal(attempt.kind, "started");
    assert.deepEqual(JSON.parse(there.service.asked[0]?.body ?? ""), { pipeline: "nächtlich" });
  });

  it("may have another port, or an IPv6 address", async () => {
    await using there = await Proxied.listen(answersOrg);
    await there.client({ baseUrl: "https://service.example:8443/x/" }).org(never);
    assert.equal(there.service.asked[0]?.path, "/x/api/org");
    const error = await outOfReach(there.client({ baseUrl: "https://[2001:db8::1]/" }).org(never));
    assert.match(error.message, /^The certificate of \[2001:db8::1\] .* it is for service\.example\.$/);
    assert.deepEqual(there.proxy.asked, ["service.example:8443", "[2001:db8::1]:443"]);
  });

  it("is reached with the proxy's user and password, which go to the proxy alone", async () => {
    await using there = await Proxied.listen(answersOrg, { credentials: "me:pa:ss@ü" });
    await there.client({ user: "me:pa%3Ass%40%C3%BC@" }).org(never);
    assert.equal(there.service.asked[0]?.headers["proxy-authorization"], undefined);
    assert.equal(there.service.asked[0]?.headers.authorization, undefined);
    assert.equal(there.proxy.requests[0]?.headers.authorization, undefined);
  });

  it("is reached through a proxy that is asked over TLS", async () => {
    const proxyCertificate = certificate({ host: "localhost", issuer: authority });
    await using there = await Proxied.listen(answersOrg, { certificate: proxyCertificate });
    assert.equal((await there.client().org(never)).orgName, "Lamps");
    assert.equal(there.proxy.asked.length, 1);
  });

  it("may hold a start for 135 s", async () => {
    await using there = await Proxied.listen(async (_, response, gone) => {
      await there.service.hold(there.clock, 134_000, gone);
      sendJson(response, 201, runOnWire());
    });
    const options = { waitSeconds: 120, idempotencyKey: "k" };
    const started = there.client().start({ pipeline: "a" }, options, never);
    await there.service.until(() => there.service.held === 1);
    there.clock.advance(134_000);
    assert.equal((await started).kind, "started");
  });

  it("sends its events through it, until the tunnel is cut", async () => {
    await using there = await Proxied.listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("event: a\ndata: 1\n\nevent: b\nda");
    });
    const stream = eventStream(there.client(), "api/events", "own", {}, never);
    assert.equal((await stream.next()).value?.kind, "opened");
    const item = (await stream.next()).value;
    assert.equal(item?.kind === "message" && item.message.data, "1");
    there.proxy.cut();
    const error = await outOfReach(stream.next());
    assert.equal(error.fault, "dropped");
  });

  describe("is left when the caller stops, and the tunnel is closed,", () => {
    const stages: [string, Answer][] = [
      ["before the service has answered", () => undefined],
      ["in the middle of the answer", (_, response) => void response.writeHead(200).write("{")],
    ];
    for (const [when, answer] of stages) {
      it(when, async () => {
        await using there = await Proxied.listen(answer);
        const stop = new AbortController();
        const asked = there.client().org(stop.signal);
        await there.service.until(() => there.service.asked.length === 1);
        const reason = new Error("changed my mind");
        stop.abort(reason);
        await assert.rejects(asked, reason);
        await there.proxy.until(() => there.proxy.open === 0);
      });
    }

    it("and a stream too", async () => {
      await using there = await Proxied.listen((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
      });
      const stop = new AbortController();
      const stream = eventStream(there.client(), "api/events", "own", {}, stop.signal);
      await stream.next();
      const next = stream.next();
      stop.abort(new Error("enough"));
      await assert.rejects(next, /enough/);
      await there.proxy.until(() => there.proxy.open === 0);
    });
  });

  it("keeps nobody waiting who stops before there is a tunnel", async () => {
    const silent: NonNullable<ProxyOptions["answer"]>[] = [
      () => undefined,
      (socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\n"),
    ];
    for (const answer of silent) {
      await using there = await Proxied.listen(answersOrg, { answer });
      const stop = new AbortController();
      const asked = there.client().org(stop.signal);
      await there.proxy.until(() => there.proxy.asked.length === 1);
      const reason = new Error("changed my mind");
      stop.abort(reason);
      await assert.rejects(asked, reason);
    }
  });

  describe("is out of reach, which is told with the proxy's host and its variable,", () => {
    const says =
      (text: string): ((socket: Duplex) => void) =>
      (socket) =>
        void socket.end(text);
    const refusals: [string, ProxyOptions & { user?: string }, string, RegExp, RegExp][] = [
      [
        "when the proxy asks for a password",
        { credentials: "me:secret" },
        "proxy",
        /^The proxy localhost:\d+ \(HTTPS_PROXY\) asks for a user name and a password\.$/,
        /^Write HTTPS_PROXY like http:\/\/user:password@localhost:\d+, with/,
      ],
      [
        "when the proxy asks for another password",
        { credentials: "me:secret", user: "me:wr0ng@" },
        "proxy",
        /asks for a user name and a password other than those that it was sent\.$/,
        /^Write HTTPS_PROXY like/,
      ],
      [
        "when the proxy asks for what can't be answered",
        {
          answer: says(
            'HTTP/1.1 407 No\r\nproxy-authenticate: Negotiate\r\nproxy-authenticate: NTLM abc="d, e"\r\n\r\n',
          ),
        },
        "proxy",
        /asks for Negotiate, ?NTLM abc="d, e", which can't be answered\.$/,
        /^Name a proxy in HTTPS_PROXY/,
      ],
      [
        "when the proxy forbids the host",
        { answer: says("HTTP/1.1 403 Not this\u001b[31m one\r\n\r\n") },
        "proxy",
        /doesn't let requests through to service\.example: it answered 403\.$/,
        /name service\.example in NO_PROXY/,
      ],
      [
        "when the proxy redirects",
        { answer: says("HTTP/1.1 302 Found\r\nlocation: https://evil.example/\r\n\r\n") },
        "proxy",
        /it answered 302\.$/,
        /NO_PROXY/,
      ],
      [
        "when the proxy can't reach it",
        { answer: says("HTTP/1.1 503 Service Unavailable\r\n\r\n") },
        "unavailable",
        /^The proxy \S+ \(HTTPS_PROXY\) could not reach service\.example: it answered 503\.$/,
        /later/,
      ],
      [
        "when the proxy closes the connection",
        { answer: (socket) => void socket.destroy() },
        "dropped",
        /^The proxy \S+ \(HTTPS_PROXY\) closed the connection before the answer was whole\.$/,
        /^Check HTTPS_PROXY/,
      ],
      [
        "when the proxy sends half a reply",
        { answer: says("HTTP/1.1 200 Connec") },
        "dropped",
        /^The proxy /,
        /^Check HTTPS_PROXY/,
      ],
      [
        "when the proxy answers what is no HTTP",
        { answer: says("220 mail ready\r\n\r\n") },
        "not-http",
        /^What answered at the proxy \S+ \(HTTPS_PROXY\) was not HTTP\.$/,
        /^Check HTTPS_PROXY/,
      ],
      [
        "when the proxy answers with 10 MB of headers",
        { answer: says(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(10_000_000)}\r\n\r\n`) },
        "not-http",
        /^The headers of what the proxy \S+ \(HTTPS_PROXY\) answered are too large\.$/,
        /^Check HTTPS_PROXY/,
      ],
    ];
    for (const [when, { user = "", ...options }, fault, message, next] of refusals) {
      it(when, async () => {
        await using there = await Proxied.listen(answersOrg, options);
        const error = await outOfReach(there.client({ user }).org(never));
        assert.equal(error.fault, fault);
        assert.match(error.message, message);
        assert.match(error.next, next);
        assert.ok(!inspect(error, { depth: 9 }).includes("wr0ng"));
        assert.ok(!inspect(error, { depth: 9 }).includes(Buffer.from("me:wr0ng").toString("base64")));
        assert.equal(there.service.asked.length, 0);
      });
    }

    it("when nobody listens at the proxy's address", async () => {
      const gone = await stranger(() => undefined);
      await gone[Symbol.asyncDispose]();
      const error = await outOfReach(
        clientThrough(`http://me:secret@${gone.host}`, new FakeClock()).org(never),
      );
      assert.equal(error.fault, "refused");
      assert.equal(
        error.message,
        `Nothing listens at the proxy ${gone.host} (HTTPS_PROXY): the connection was refused.`,
      );
      assert.match(error.next, /^Check HTTPS_PROXY, or name service\.example in NO_PROXY/);
    });

    it("when the proxy takes the connection and says nothing, also to a start that may take long", async () => {
      const clock = new FakeClock();
      await using silent = await stranger(() => undefined);
      const client = clientThrough(`http://${silent.host}`, clock, { connectWithin: 1 });
      const options = { waitSeconds: 120, idempotencyKey: "k" };
      const error = await outOfReach(client.start({ pipeline: "a" }, options, never));
      assert.equal(error.fault, "timed-out");
      assert.equal(error.message, `The proxy ${silent.host} (HTTPS_PROXY) did not answer in time.`);
      assert.equal(clock.alarms, 0);
    });

    it("when the proxy's certificate can't be trusted", async () => {
      const proxyCertificate = certificate({ host: "other.example", issuer: authority });
      await using there = await Proxied.listen(answersOrg, { certificate: proxyCertificate });
      const error = await outOfReach(there.client().org(never));
      assert.equal(error.fault, "tls");
      assert.match(
        error.message,
        /^The certificate of the proxy localhost:\d+ \(HTTPS_PROXY\) can't be trusted: it is for other\.example\.$/,
      );
    });
  });

  it("has its own faults told as its own", async () => {
    await using there = await Proxied.listen((_, response) => void response.destroy());
    const error = await outOfReach(there.client().org(never));
    assert.equal(error.message, "service.example closed the connection before the answer was whole.");
    await using silent = await Proxied.listen(() => undefined);
    const asked = outOfReach(silent.client().org(never));
    await silent.service.until(() => silent.service.asked.length === 1);
    silent.clock.advance(10_000);
    assert.equal((await asked).message, "service.example did not answer within 10 s.");
  });

  const choices: [string, (proxy: string, own: string) => Record<string, string>, boolean][] = [
    ["that of HTTPS_PROXY", (proxy) => ({ HTTPS_PROXY: proxy, HTTP_PROXY: "http://127.0.0.1:1" }), true],
    ["small letters first", (proxy) => ({ https_proxy: proxy, HTTPS_PROXY: "http://127.0.0.1:1" }), true],
    ["what is set, not what is empty", (proxy) => ({ https_proxy: "", HTTPS_PROXY: proxy }), true],
    ["that of HTTP_PROXY when nothing else is set", (proxy) => ({ HTTP_PROXY: proxy }), true],
    ["not for what NO_PROXY names", (proxy) => ({ HTTPS_PROXY: proxy, NO_PROXY: "other 0.0.0.0" }), false],
    ["not for the port that it names", (proxy, own) => ({ HTTPS_PROXY: proxy, no_proxy: own }), false],
    ["for another port", (proxy) => ({ HTTPS_PROXY: proxy, no_proxy: "0.0.0.0:1" }), true],
  ];
  for (const [which, env, isAsked] of choices) {
    // A host that is no loopback by its name, and is found without a name server.
    itOn("posix", `is reached through the environment's proxy: ${which}`, async () => {
      await using there = await Proxied.listen(answersOrg);
      const baseUrl = new URL(`https://0.0.0.0:${there.service.port}/`);
      const fetch = remoteFetch(baseUrl, env(`http://${there.proxy.host}`, baseUrl.host));
      const client = new ServiceClient({ baseUrl, apiKey: testKey, clock: there.clock, fetch });
      assert.equal((await outOfReach(client.org(never))).fault, "tls", "the certificate is another's");
      assert.equal(there.proxy.asked.length > 0, isAsked);
    });
  }

  it("is never one of this machine's own addresses, whatever the environment says", async () => {
    const own = certificate({ host: "localhost", issuer: authority });
    await using service = await LoopbackService.listen(answersOrg, own);
    const baseUrl = new URL(`https://localhost:${service.port}/`);
    const fetch = remoteFetch(baseUrl, { HTTPS_PROXY: "%", HTTP_PROXY: "http://127.0.0.1:1" });
    const client = new ServiceClient({ baseUrl, apiKey: testKey, clock: new FakeClock(), fetch });
    assert.equal((await client.org(never)).orgName, "Lamps");
  });

  const secret = "5ecre7";
  const wrong = [
    "http://",
    "p.example:3128",
    `http://me:${secret}@`,
    `http://me:${secret}#1@p.example:3128`,
    `http://me:12#${secret}@p.example:3128`,
    `http://me:12/${secret}@p.example:3128`,
    `http://me:12?${secret}@p.example:3128`,
    `http://me:${secret}%ff@p.example`,
    "http://p.example:99999",
    "socks5://p.example:1080",
    `ftp://${secret}@p.example`,
  ];
  for (const text of wrong) {
    it(`is not asked through ${text}, which is refused without being repeated`, () => {
      assert.throws(
        () => remoteFetch(new URL("https://service.example/"), { HTTPS_PROXY: text }),
        (error) => {
          assert.ok(error instanceof PipelineError);
          assert.equal(error.type, "invalid-request");
          assert.equal(error.message, "HTTPS_PROXY is not the address of an http or https proxy.");
          assert.match(error.next, /^Write HTTPS_PROXY like /);
          assert.ok(!inspect(error, { depth: 9 }).includes(secret));
          return true;
        },
      );
    });
  }
});
