import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer as createHttp2Server } from "node:http2";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { certificate } from "../../certificate.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { ConnectProxy } from "../../connectProxy.ts";
import { itOn } from "../../itOn.ts";
import { Listening } from "../../listening.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { messagesOf } from "./httpSteps.ts";

const authority = certificate({ host: "Authority of the tests", isAuthority: true });
const ofShop = certificate({ host: "shop.test", issuer: authority });
const ofClient = certificate({ host: "client", issuer: authority });

describe("how an http step reaches its server", () => {
  const folder = temporaryFolder();
  beforeEach(() => {
    for (const [name, text] of Object.entries({ ca: authority.cert, cert: ofClient.cert, key: ofClient.key }))
      writeFileSync(join(folder.path, `${name}.pem`), text);
  });
  const ask = (resource: object, ...steps: object[]) => messagesOf(resource, steps, { root: folder.path });

  /** Tells who asks, by the name in the client's certificate. */
  const secure = (to?: string) =>
    Listening.of(
      createSecureServer(
        { ...ofShop, ca: authority.cert, requestCert: true, rejectUnauthorized: false },
        ({ url, socket }, response) => {
          const name = (socket as TLSSocket).getPeerCertificate()?.subject?.CN;
          if (url === "/leave") response.writeHead(307, { location: to });
          response.end(`asked by ${name ?? "nobody"}`);
        },
      ),
    );

  it("gives up within the timeout on a server that takes the connection and leaves TLS, or a proxy's tunnel, unanswered", async () => {
    await using silent = await Listening.of((socket) => socket.resume());
    const step = { get: `https://${silent.host}/`, timeout: "50ms" };
    const late = `${silent.host} didn't reply within 50 ms, the step's \`timeout\``;
    // The second one doesn't wait for the connection of the first.
    assert.deepEqual(await ask({}, step, step), [late, late]);
    assert.deepEqual(await ask({ proxy: silent.origin }, step), [late]);
  });

  it("uses a connection again but for what may not be repeated, and repeats what its server closes just then", async () => {
    const asked: string[] = [];
    const sockets: Socket[] = [];
    const counts: number[] = [];
    await using server = await Listening.of(
      createServer(({ method, url, socket }, response) => {
        if (!sockets.includes(socket)) sockets.push(socket);
        const at = sockets.indexOf(socket);
        counts[at] = (counts[at] ?? 0) + 1;
        asked.push(`${method} ${at + 1}.${counts[at]}`);
        if (url === "/closes" && counts[at] > 1) socket.destroy();
        else response.end();
      }),
    );
    const steps = [
      { get: "/" },
      { get: "/" },
      { get: "/closes" },
      { post: "/" },
      { get: "/" },
      { put: "/closes" },
    ];
    assert.deepEqual(
      await ask({ "base-url": `http://${server.host}` }, ...steps),
      steps.map(() => undefined),
    );
    assert.deepEqual(asked, [
      "GET 1.1",
      "GET 1.2",
      "GET 1.3",
      "GET 2.1",
      "POST 3.1",
      "GET 3.2",
      "PUT 3.3",
      "PUT 4.1",
    ]);
    const [, message] = await ask(
      { "base-url": `http://${server.host}` },
      { get: "/" },
      { post: "/closes" },
      { get: "/" },
    );
    assert.equal(message, undefined, "a new connection");
  });

  it("trusts an authority of the project, and proves who it is to its own origin alone", async () => {
    await using other = await secure();
    await using server = await secure(`https://shop.test:${other.port}/`);
    const resource = {
      "base-url": `https://shop.test:${server.port}`,
      "connect-to": { "*": "127.0.0.1" },
    };
    const [files, texts] = [
      { ca: "ca.pem", cert: "cert.pem", key: "key.pem" },
      { ca: authority.cert, cert: ofClient.cert, key: ofClient.key },
    ];
    for (const tls of [files, texts]) {
      assert.deepEqual(
        await ask(
          { ...resource, tls },
          { get: "/", expect: { text: "asked by client" } },
          { get: "/leave", expect: { text: "asked by nobody" } },
          { get: `https://shop.test:${other.port}`, expect: { text: "asked by nobody" } },
        ),
        [undefined, undefined, undefined],
      );
    }
    const [untrusted] = await ask(resource, { get: "/" });
    assert.match(untrusted ?? "", /certificate of shop\.test:\d+ isn't from an authority .*`tls`/);
  });

  it("checks the name of the host that is asked, wherever it connects to", async () => {
    await using server = await secure();
    const tls = { ca: "ca.pem" };
    for (const [host, to] of [
      ["other.test", "127.0.0.1"],
      ["10.9.8.7", "127.0.0.1"],
    ] as const) {
      const [said] = await ask(
        { tls, "connect-to": { [host]: to } },
        { get: `https://${host}:${server.port}` },
      );
      assert.equal(said, `the certificate of ${host}:${server.port} was made for another host`);
    }
    const unverified = { tls: { verify: false }, "connect-to": { "*": "127.0.0.1" } };
    assert.deepEqual(await ask(unverified, { get: `https://other.test:${server.port}` }), [undefined]);
  });

  it("says what is wrong with a certificate of its own", async () => {
    writeFileSync(join(folder.path, "odd.pem"), "no certificate");
    const other = certificate({ host: "other" });
    writeFileSync(join(folder.path, "other.pem"), other.key);
    for (const [tls, told] of [
      [{ ca: "odd.pem" }, /^what `tls` names can't be used: /],
      [{ cert: "odd.pem", key: "key.pem" }, /^what `tls` names can't be used: /],
      [{ cert: "cert.pem", key: "other.pem" }, /^what `tls` names can't be used: /],
      [{ ca: "gone.pem" }, /^`gone\.pem` isn't in the project's folder/],
    ] as const) {
      const [said] = await ask({ tls }, { get: "https://127.0.0.1:1" });
      assert.match(said ?? "", told);
    }
  });

  it("goes through a proxy, to http and https, and says who asks there", async () => {
    await using server = await LoopbackService.listen((_, response) => response.end("in the clear"));
    await using hidden = await secure();
    await using proxy = await ConnectProxy.listen(hidden.port, { credentials: "ada:p@ss" });
    const resource = {
      proxy: `http://ada:p%40ss@${proxy.host}`,
      tls: { ca: "ca.pem", cert: "cert.pem", key: "key.pem" },
      "base-url": "https://shop.test",
    };
    assert.deepEqual(
      await ask(
        resource,
        { get: "/", expect: { text: "asked by client" } },
        { get: "https://shop.test:444", expect: { text: "asked by nobody" } },
      ),
      [undefined, undefined],
    );
    assert.deepEqual(proxy.asked, ["shop.test:443", "shop.test:444"]);
    const [refused] = await ask({ ...resource, proxy: proxy.origin }, { get: "/" });
    assert.equal(
      refused,
      `the way to shop.test was refused by ${proxy.host}, the resource's \`proxy\` (407)`,
    );
    // A proxy gets a request of http as it is, with its whole address.
    const plain = { proxy: server.origin, headers: { "x-a": ["1", "2"] } };
    const [said] = await ask(plain, {
      post: "http://far.test/a?b",
      body: "c",
      expect: { text: "in the clear" },
    });
    assert.equal(said, undefined);
    const [{ path, headers, body } = assert.fail()] = server.asked;
    assert.deepEqual(
      [path, headers.host, headers["x-a"], body],
      ["http://far.test/a?b", "far.test", "1, 2", "c"],
    );
  });

  it("finds this machine under a name of localhost, as browsers do", async () => {
    await using server = await LoopbackService.listen(({ headers }, response) => response.end(headers.host));
    const host = `app.localhost:${new URL(server.origin).port}`;
    assert.deepEqual(await ask({}, { get: `http://${host}/`, expect: { text: host } }), [undefined]);
  });

  itOn("ipv6", "finds a server of localhost that listens on IPv6 alone", async () => {
    await using server = await Listening.of(
      createServer((_, reply) => void reply.end("six")),
      "::1",
    );
    const expect = { text: "six" };
    for (const name of ["localhost", "LOCALHOST", "app.localhost"])
      assert.deepEqual(await ask({}, { get: `http://${name}:${server.port}/`, expect }), [undefined], name);
    const led = { "connect-to": { "shop.test:80": `localhost:${server.port}` } };
    assert.deepEqual(await ask(led, { get: "http://shop.test", expect }), [undefined]);
  });

  it("says whom it can't reach", async () => {
    const free = await LoopbackService.listen(() => {});
    const { host, port } = free;
    await free[Symbol.asyncDispose]();
    assert.deepEqual(await ask({ proxy: `http://u:s3cret@${host}` }, { get: "https://shop.test" }), [
      `nothing listens at ${host}, the resource's \`proxy\` (connection refused)`,
    ]);
    assert.deepEqual(await ask({ "connect-to": { "shop.test:80": host } }, { get: "http://shop.test" }), [
      `nothing listens at ${host}, where \`connect-to\` leads shop.test (connection refused)`,
    ]);
    const [said] = await ask(
      { "connect-to": { "*": "no-such-host.invalid" } },
      { get: `http://a.test:${port}` },
    );
    assert.match(said ?? "", /^the host no-such-host\.invalid isn't known/);
  });

  itOn("posix", "reaches a unix socket of the machine or of the project", async () => {
    const server = createServer(({ headers, url }, response) => response.end(`${headers.host}${url}`));
    const path = join(folder.path, "a.sock");
    await new Promise<void>((resolve) => server.listen(path, resolve));
    for (const to of [`unix:${path}`, "unix:a.sock"]) {
      const resource = { "base-url": "http://shop.test/v1", "connect-to": { "shop.test": to } };
      assert.deepEqual(await ask(resource, { get: "/a", expect: { text: "shop.test/v1/a" } }), [undefined]);
    }
    await new Promise((resolve) => server.close(resolve));
    const [said] = await ask({ "connect-to": { "*": "unix:gone.sock" } }, { get: "http://shop.test" });
    assert.equal(said, "nothing listens at gone.sock, where `connect-to` leads shop.test (no such socket)");
  });

  it("speaks HTTP/2 where the server does", async () => {
    const server = createHttp2Server({ ...ofShop, allowHTTP1: true });
    const asked: unknown[] = [];
    server.on("request", (request, response) => {
      let size = 0;
      request.on("data", (piece: Buffer) => {
        size += piece.length;
      });
      request.on("end", () => {
        asked.push([request.httpVersion, request.method, request.authority, request.headers["x-a"], size]);
        switch (request.url) {
          case "/die":
            response.write("begun", () => request.stream.session?.destroy());
            break;
          case "/reset":
            response.write("begun", () => request.stream.close(2));
            break;
          case "/away":
            request.stream.session?.goaway(1);
            break;
          case "/redirect":
            response.writeHead(307, { location: "/there", "set-cookie": ["a=1", "b=2"] }).end();
            break;
          default:
            response.end("well");
        }
      });
    });
    await using held = await Listening.of(server);
    const resource = {
      "base-url": `https://shop.test:${held.port}`,
      "connect-to": { "*": "127.0.0.1" },
      tls: { ca: "ca.pem" },
    };
    writeFileSync(join(folder.path, "big.bin"), Buffer.alloc(3_000_000));
    assert.deepEqual(
      await ask(
        resource,
        { post: "/", file: "big.bin", headers: { "x-a": ["1", "2"] }, expect: { text: "well" } },
        { request: { method: "PURGE", path: "/" } },
        { post: "/redirect", multipart: { a: { file: "big.bin" } }, expect: { text: "well" } },
        { head: "/" },
      ),
      [undefined, undefined, undefined, undefined],
    );
    const authorityName = `shop.test:${held.port}`;
    assert.deepEqual(
      asked.splice(0).map((seen) => (Array.isArray(seen) ? seen.slice(0, 4) : seen)),
      [
        ["2.0", "POST", authorityName, "1, 2"],
        ["2.0", "PURGE", authorityName, undefined],
        ["2.0", "POST", authorityName, undefined],
        ["2.0", "POST", authorityName, undefined],
        ["2.0", "HEAD", authorityName, undefined],
      ],
    );
    await using proxy = await ConnectProxy.listen(held.port);
    const proxied = { ...resource, "connect-to": undefined, proxy: proxy.origin };
    assert.deepEqual(await ask(proxied, { post: "/", body: "x" }), [undefined]);
    assert.deepEqual(asked.splice(0), [["2.0", "POST", authorityName, undefined, 1]]);
    const [died, reset, away] = await ask(resource, { get: "/die" }, { get: "/reset" }, { get: "/away" });
    assert.match(died ?? "", /replied with 200, and 5 bytes came; then .* closed the connection before/);
    assert.match(reset ?? "", /replied with 200, and 5 bytes came; then .* closed the connection before/);
    assert.match(away ?? "", /closed the connection before its reply was complete$/);
  });
});
