import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { Connection, HttpSession, routeOf } from "../../../src/runner/http/connection.ts";
import { runHttpStep } from "../../../src/runner/http/runHttpStep.ts";
import { describeConnectionProblem, sendRequest } from "../../../src/runner/http/sendRequest.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import {
  outcomeOf,
  SharedResources,
  type StepContext,
  type StepOutcome,
} from "../../../src/runner/step/stepContext.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

/** A resource that says nothing of its connections. */
const straight = { connection: { tls: { verify: true }, connectTo: {} }, address: { target: "" } };

describe("an http step", () => {
  const servers: (Server | TcpServer)[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      if ("closeAllConnections" in server) server.closeAllConnections();
      for (const socket of sockets.splice(0)) socket.destroy();
      await new Promise((done) => server.close(done));
    }
  });

  it("sends its method, path, headers and JSON", async () => {
    const seen: unknown[] = [];
    const base = await serve(async (request, response) => {
      seen.push([
        request.method,
        request.url,
        request.headers["content-type"],
        request.headers["x-a"],
        await bodyOf(request),
      ]);
      response.statusCode = 201;
      response.end();
    });
    const outcome = await run(base, { post: "/orders?x=1", headers: { "X-A": "b" }, json: { lamp: 1 } });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.deepEqual(seen, [["POST", "/orders?x=1", "application/json", "b", '{"lamp":1}']]);
  });

  it("sends every method, and a text as its body", async () => {
    const seen: unknown[] = [];
    const base = await serve(async (request, response) => {
      seen.push([request.method, await bodyOf(request)]);
      response.end();
    });
    for (const step of [
      { get: "/" },
      { post: "/", body: "hi" },
      { put: "/", body: 1.5 },
      { patch: "/" },
      { delete: "/" },
      { head: "/" },
      { options: "/" },
      { request: { method: "purge", path: "/" } },
      { request: { method: "GET", path: "/" }, body: "with a body" },
    ]) {
      assert.deepEqual(await run(base, step), { kind: "succeeded" });
    }
    assert.deepEqual(seen, [
      ["GET", ""],
      ["POST", "hi"],
      ["PUT", "1.5"],
      ["PATCH", ""],
      ["DELETE", ""],
      ["HEAD", ""],
      ["OPTIONS", ""],
      ["PURGE", ""],
      ["GET", "with a body"],
    ]);
  });

  it("expects a status of 2xx when the file says none, and shows what the reply says instead", async () => {
    const base = await serve((_request, response) => response.writeHead(503).end("closed\n  for today"));
    assert.equal(
      message(await run(base, { get: "/a?key=1" })),
      `expected status 2xx, got 503 from ${base}/a\nthe reply says: closed for today`,
    );
    assert.deepEqual(await run(base, { get: "/", expect: { status: 503 } }), { kind: "succeeded" });
    assert.deepEqual(await run(base, { get: "/", expect: { status: "5xx" } }), { kind: "succeeded" });
  });

  it("names the path of every JSON value that isn't as expected", async () => {
    const got = { ok: true, more: 1, items: [{ name: "lamp", price: 4 }], "odd name": "x" };
    const base = await serve((_request, response) => response.end(JSON.stringify(got)));
    assert.deepEqual(await run(base, { get: "/", expect: { json: { ok: true, items: [{ price: 4 }] } } }), {
      kind: "succeeded",
    });
    const wrong = {
      ok: false,
      items: [{ name: "lamp", price: 3, Name: 1 }],
      "odd name": null,
      gone: [],
      old: 1,
    };
    assert.equal(
      message(await run(base, { get: "/", expect: { json: wrong } })),
      [
        "$.ok: expected false, got true",
        "$.items[0].price: expected 3, got 4",
        "$.items[0].Name: expected 1, got nothing; $.items[0] has name, price",
        '$["odd name"]: expected null, got "x"',
        "$.gone: expected [], got nothing; $ has ok, more, items, odd name",
        "$.old: expected 1, got nothing",
      ].join("\n"),
    );
    assert.equal(
      message(await run(base, { get: "/", expect: { json: { items: [] } } })),
      "$.items.length: expected 0, got 1",
    );
    assert.equal(
      message(await run(base, { get: "/", expect: { json: [1] } })),
      `$: expected [1], got ${JSON.stringify(got)}`,
    );
  });

  it("says when the reply is no JSON, lacks a text or a header", async () => {
    const base = await serve((_request, response) =>
      response.setHeader("content-type", "text/plain; charset=utf-8").end("hello\nworld"),
    );
    assert.equal(
      message(await run(base, { get: "/", expect: { json: {} } })),
      `expected JSON, but the reply of ${base}/ isn't JSON: hello world`,
    );
    const web = await serve(({ url = "" }, response) => {
      const replies: Readonly<Record<string, () => unknown>> = {
        "/away": () => response.writeHead(302, { location: "/login?next=s3cret" }).end(),
        "/login": () => response.end("<!doctype html>\n<title>Sign in</title>"),
        "/down": () => response.writeHead(503).end("<!-- x -->\n<HTML>Down"),
        "/marked": () => response.end('\ufeff\ufeff{"a":1}'),
        "/none": () => response.writeHead(204).end(),
      };
      replies[url.split("?", 1).join()]?.();
    });
    const said = async (get: string, expect: object = { json: { a: 1 } }) => {
      const outcome = await run(web, { get, expect });
      return outcome.kind === "failed" ? outcome.message.replaceAll(web, "") : undefined;
    };
    assert.equal(
      await said("/away"),
      "expected JSON, but the reply of /login is an HTML page: <!doctype html> <title>Sign in</title>",
    );
    assert.equal(await said("/none"), "expected JSON, but the reply of /none is empty");
    assert.equal(
      await said("/down"),
      "expected status 2xx, got 503 from /down\nthe reply says: <!-- x --> <HTML>Down\nexpected JSON, but the reply of /down is an HTML page",
    );
    assert.equal(await said("/marked"), undefined);
    assert.deepEqual(
      await run(base, {
        get: "/",
        expect: { text: "/^WORLD$/i", headers: { "Content-Type": "text/plain" } },
      }),
      { kind: "succeeded" },
    );
    assert.equal(
      message(
        await run(base, {
          get: "/",
          expect: { text: "lamp", headers: { "content-type": "json", "x-a": "b" } },
        }),
      ),
      [
        'header content-type: expected `json`, got "text/plain; charset=utf-8"',
        "header x-a: expected `b`, got no such header",
        "expected `lamp` in the reply, which says: hello world",
      ].join("\n"),
    );
  });

  it("may expect a reply in time", async () => {
    const base = await serve((_request, response) => response.end());
    assert.match(
      message(await run(base, { get: "/", expect: { time: 0 } })),
      /^expected the reply within 0 s, it took \d+ m?s$/,
    );
    assert.deepEqual(await run(base, { get: "/", expect: { time: "1h" } }), { kind: "succeeded" });
  });

  it("gives up on a server that doesn't reply, or doesn't end its reply, within the timeout", async () => {
    const silent = await serve(() => {});
    const host = new URL(silent).host;
    assert.equal(
      message(await run(silent, { get: "/", timeout: "50ms" })),
      `${host} didn't reply within 50 ms, the step's \`timeout\``,
    );
    const endless = await serve((_request, response) => response.write("a"));
    assert.match(
      message(await run(endless, { get: "/", timeout: "500ms" })),
      /replied with 200, and 1 bytes came, but the reply didn't end within 500 ms/,
    );
  });

  it("follows redirects, with its headers only as long as the origin stays the same", async () => {
    const seen: unknown[] = [];
    const other = await serve((request, response) => {
      seen.push(["other", request.method, request.headers["x-token"]]);
      response.end('{"ok":true}');
    });
    const base = await serve((request, response) => {
      seen.push([request.url, request.method, request.headers["x-token"]]);
      const target = request.url === "/a" ? "/b" : `${other}/c`;
      response.writeHead(request.url === "/a" ? 303 : 307, { location: target }).end();
    });
    const step = { post: "/a", headers: { "X-Token": "secret" }, json: {}, expect: { json: { ok: true } } };
    assert.deepEqual(await run(base, step), { kind: "succeeded" });
    assert.deepEqual(seen, [
      ["/a", "POST", "secret"],
      ["/b", "GET", "secret"],
      ["other", "GET", undefined],
    ]);
  });

  it("sends what says what a body is as long as the body, wherever a redirect leads", async () => {
    const seen: unknown[] = [];
    const note = ({ method, headers }: IncomingMessage) => {
      seen.push([method, headers["content-encoding"], headers["content-type"], headers["x-token"]]);
    };
    const other = await serve((request, response) => {
      note(request);
      response.end();
    });
    const base = await serve((request, response) => {
      if (request.url === "/303") response.writeHead(303, { location: "/own" }).end();
      else if (request.url === "/307") response.writeHead(307, { location: other }).end();
      else {
        note(request);
        response.end();
      }
    });
    const headers = { "content-encoding": "x-own", "content-length": 2, "x-token": 1 };
    for (const post of ["/303", "/307"])
      assert.deepEqual(await run(base, { post, headers, json: {} }), { kind: "succeeded" });
    assert.deepEqual(seen, [
      ["GET", undefined, undefined, "1"],
      ["POST", "x-own", "application/json", undefined],
    ]);
  });

  it("doesn't follow a redirect that is what it expects", async () => {
    const base = await serve((_request, response) =>
      response.writeHead(302, { location: "/elsewhere" }).end(),
    );
    const step = { get: "/", expect: { status: 302, headers: { location: "/elsewhere" } } };
    // Written between slashes it would be a regular expression; this one only begins with one.
    assert.deepEqual(await run(base, step), { kind: "succeeded" });
  });

  it("gives up on redirects without end, and on one to nowhere", async () => {
    const loop = await serve((_request, response) => response.writeHead(302, { location: "/" }).end());
    assert.match(message(await run(loop, { get: "/" })), /redirects without end/);
    const nowhere = await serve((_request, response) =>
      response.writeHead(302, { location: "ftp://ada:1@h.test/a?code=2" }).end(),
    );
    assert.match(
      message(await run(nowhere, { get: "/" })),
      /redirects to `ftp:\/\/h\.test\/a`, which is no address of the web; with `redirects: 0` the redirect itself is the reply$/,
    );
  });

  it("doesn't wait for the end of a redirect's body", async () => {
    const base = await serve((request, response) => {
      if (request.url === "/b") response.end();
      else response.writeHead(302, { location: "/b" }).write("a");
    });
    assert.deepEqual(await run(base, { get: "/a", timeout: "20s" }), { kind: "succeeded" });
  });

  it("looks at no more than 10 MB of a reply", async () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    const base = await serve((_request, response) => {
      const pour = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", pour);
      pour();
    });
    assert.equal(
      message(await run(base, { get: "/", expect: { text: "y" } })),
      "the reply is larger than 10 MB, the most that is looked at",
    );
    assert.deepEqual(await run(base, { get: "/" }), { kind: "succeeded" });
  });

  it("tells plainly why there is no reply", async () => {
    const base = await serve(() => {});
    const { host } = new URL(base);
    await new Promise((done) => servers.pop()?.close(done));
    assert.equal(message(await run(base, { get: "/" })), `nothing listens at ${host} (connection refused)`);
    assert.match(
      message(await run("http://no-such-host.invalid", { get: "/" })),
      /^the host no-such-host\.invalid isn't known/,
    );
    const rude = await serve((request) => request.socket.destroy());
    assert.match(
      message(await run(rude, { get: "/" })),
      /closed the connection before its reply was complete$/,
    );
    const cut = await serve((request, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("abc", () => request.socket.destroy());
    });
    assert.match(
      message(await run(cut, { get: "/", expect: { text: "abc" } })),
      /closed the connection before its reply was complete$/,
    );
    const plain = await serve((_request, response) => response.end());
    assert.match(message(await run(plain.replace("http:", "https:"), { get: "/" })), /doesn't speak https$/);
    const babble = await serveTcp("SSH-2.0-OpenSSH\r\n");
    assert.match(message(await run(babble, { get: "/" })), /isn't HTTP$/);
  });

  it("tells plainly what is wrong with a certificate", () => {
    const url = new URL("https://shop.test/");
    const told = (code: string) =>
      describeConnectionProblem(
        url,
        new TypeError("fetch failed", { cause: Object.assign(new Error("inner"), { code }) }),
      );
    assert.equal(told("CERT_HAS_EXPIRED"), "the certificate of shop.test has expired");
    assert.equal(
      told("ERR_TLS_CERT_ALTNAME_INVALID"),
      "the certificate of shop.test was made for another host",
    );
    assert.match(told("DEPTH_ZERO_SELF_SIGNED_CERT"), /isn't from an authority that this machine trusts/);
    assert.match(told("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"), /refused TLS .* `cert` and `key`/);
    assert.equal(told("EODD"), "the request to shop.test failed: inner (EODD)");
  });

  it("shows no half of a secret where what is looked at of a reply ends", async () => {
    const base = await serve((_request, response) =>
      response.end(`${" ".repeat(64 * 1024 - 6)}s3cr3t-value`),
    );
    const mask = new Mask(["s3cr3t-value"]);
    const said = message(await run(base, { get: "/", expect: { text: "none" } }, { mask }));
    assert.equal(said, "expected `none` in the reply, which shows no text");
  });

  it("shows no secret in what it says of a reply", async () => {
    const base = await serve((_request, response) =>
      response.writeHead(400).end(`${"x".repeat(495)}s3cr3t-value {"t":"s3cr3t-value"}`),
    );
    const mask = new Mask(["s3cr3t-value"]);
    const said = message(await run(base, { get: "/", expect: { status: 200, text: "y" } }, { mask }));
    assert.doesNotMatch(said, /s3c/);
    const json = await serve((_request, response) => response.end('{"t":"s3cr3t-value"}'));
    const told = message(await run(json, { get: "/", expect: { json: { t: 1 } } }, { mask }));
    assert.equal(told, '$.t: expected 1, got "***"');
  });

  it("tells of a reply that is nested deeper than it can be shown", async () => {
    const deep = "[".repeat(6_000) + "]".repeat(6_000);
    const base = await serve((_request, response) => response.end(deep));
    const said = message(await run(base, { get: "/", expect: { json: { ok: true } } }));
    const why =
      "something that can't be shown: a value is nested too deep, or too large, to be written as JSON";
    assert.equal(said, `$: expected {"ok":true}, got ${why}`);
  });

  it("tells of a number that is too large instead of null", async () => {
    const base = await serve((_request, response) => response.end('{"n":1e999}'));
    const said = message(await run(base, { get: "/", expect: { json: { n: null } } }));
    const why = "something that can't be shown: a number is beyond 1.8e308, too large to be compared or sent";
    assert.equal(said, `$.n: expected null, got ${why}`);
  });

  it("notes an address without what was put into it from the environment", async () => {
    const base = await serve((_request, response) => response.writeHead(404).end());
    const secret = "pä$s w?rd#x/y";
    const said = await run(base, { get: `/hook/${secret}?a=b` }, { mask: new Mask([secret]) });
    assert.equal(message(said), `expected status 2xx, got 404 from ${base}/hook/***`);
  });

  it("refuses an address and a header that HTTP can't carry", async () => {
    const [step] = pipelineOf({
      resources: { s: { type: "http" } },
      steps: [{ use: "s", get: "http://h.test/" }],
    }).steps;
    assert.ok(step?.type === "http");
    const { stepContext } = stepContextFor("/");
    assert.match(
      message(await outcomeOf(runHttpStep({ ...step, address: { target: "h.test/a" } }, stepContext))),
      /is no address/,
    );
    assert.match(
      message(
        await outcomeOf(runHttpStep({ ...step, address: { target: "http://a:b@h.test/a" } }, stepContext)),
      ),
      /holds no user and password/,
    );
    const said = message(
      await outcomeOf(runHttpStep({ ...step, headers: { "x-a": "hidden\nvalue" } }, stepContext)),
    );
    assert.equal(said, "the header `x-a` has a line break in its value, which HTTP can't carry");
    for (const [changes, told] of [
      [{ headers: { "x-a": ["fine", "hidden\nvalue"] } }, /^the header `x-a` has a line break/],
      [{ method: "GET / HTTP/1.1\r\nx-evil: 1" }, /this is no HTTP method/],
      [{ method: "connect" }, /CONNECT asks a proxy/],
      [{ auth: { user: "a:b", password: "c" } }, /can't contain a colon/],
      [{ connection: { ...step.connection, proxy: "http://h.test/a" } }, /^`proxy` is no address of a proxy/],
      [{ connection: { ...step.connection, connectTo: { "h.test": "a b" } } }, /an address stands here/],
      [
        { connection: { ...step.connection, tls: { verify: true, ca: "../a" } } },
        /isn't in the project's folder/,
      ],
      [{ expect: { ...step.expect, jsonSchema: "../a" } }, /isn't in the project's folder/],
    ] as const) {
      assert.match(message(await outcomeOf(runHttpStep({ ...step, ...changes }, stepContext))), told);
    }
  });

  it("sends every header as it is written, in UTF-8, also a host", async () => {
    const seen: unknown[] = [];
    const base = await serve(({ headers }, response) => {
      seen.push(headers.host, Buffer.from(String(headers["x-user"]), "latin1").toString());
      response
        .setHeader("content-disposition", Buffer.from('filename="Übersicht.csv"').toString("latin1"))
        .end();
    });
    const headers = { host: "shop.example", "x-user": "Zoë Łukasz\n" };
    const expect = { headers: { "content-disposition": "Übersicht" } };
    assert.deepEqual(await run(base, { get: "/", headers, expect }), { kind: "succeeded" });
    assert.deepEqual(seen, ["shop.example", "Zoë Łukasz"]);
    const odd = { headers: { "content-length": 5 }, post: "/", body: "hello world" };
    assert.match(message(await run(base, odd)), /`content-length` isn't the length of the body/);
  });

  it("reads a reply in the encoding that it has", async () => {
    const texts: Record<string, readonly [string, Buffer]> = {
      "/latin": ["text/plain; charset=iso-8859-1", Buffer.from("Grün", "latin1")],
      "/euro": ["text/plain; charset=ISO-8859-15", Buffer.from([0x47, 0x72, 0xfc, 0x6e, 0x20, 0xa4])],
      "/utf16": ["application/json;charset=UTF-16LE", Buffer.from('"Grün €"', "utf16le")],
      "/mark": ["text/plain", Buffer.from("\ufeffGrün", "utf16le")],
      "/meta": ["text/html", Buffer.from('<meta charset="windows-1252"><p>Grün', "latin1")],
      "/dotnet": ["application/xml", Buffer.from('<?xml version="1.0" encoding="utf-16"?><p>Grün</p>')],
      "/unknown": ["text/plain; charset=klingon", Buffer.from("Grün")],
      "/greek": [
        'application/json; charset="windows-1253"',
        Buffer.from([0x22, 0x47, 0x72, 0xfc, 0x6e, 0x20, 0xc1, 0x22]),
      ],
    };
    const base = await serve(({ url }, response) => {
      const [type, bytes] = texts[url ?? ""] ?? [];
      response.setHeader("content-type", type ?? "").end(bytes);
    });
    for (const path of Object.keys(texts)) {
      const text = path === "/greek" ? "Grόn Α" : path === "/euro" || path === "/utf16" ? "Grün €" : "Grün";
      assert.deepEqual(await run(base, { get: path, expect: { text } }), { kind: "succeeded" }, path);
    }
  });

  it("says that a reply is in an encoding that nobody knows here, where its letters are lost", async () => {
    const base = await serve((_, response) =>
      response.setHeader("content-type", "text/plain; charset=ibm850").end(Buffer.from([0x47, 0x81, 0x6e])),
    );
    const expected =
      'expected `Gün` in the reply, which says: G\ufffdn\nthe reply is in "ibm850", an encoding that isn\'t known here, and no UTF-8';
    assert.deepEqual(await run(base, { get: "/", expect: { text: "Gün" } }), {
      kind: "failed",
      message: expected,
    });
  });

  it("goes to an address in UTF-8 that a redirect names, as browsers do", async () => {
    const base = await serve(({ url }, response) => {
      if (url === "/stadt/z%C3%BCrich") return response.end("welcome");
      return response.writeHead(302, { location: Buffer.from("/stadt/zürich").toString("latin1") }).end();
    });
    assert.deepEqual(await run(base, { get: "/old", expect: { text: "welcome" } }), { kind: "succeeded" });
  });

  it("keeps the cookies of a resource through redirects and steps, each for whom it is", async () => {
    const seen: unknown[] = [];
    const other = await serve(({ headers }, response) => {
      seen.push(`other ${headers.cookie}`);
      response.end();
    });
    const base = await serve(({ url, headers }, response) => {
      seen.push(`${url} ${headers.cookie}`);
      if (url === "/login") {
        response.setHeader("set-cookie", [
          "sid=7; HttpOnly",
          "at=1; Path=/account",
          "not=ours; Domain=example.com",
        ]);
        response.writeHead(303, { location: "/account" });
      }
      if (url === "/leave") response.writeHead(302, { location: other.replace("127.0.0.1", "localhost") });
      response.end();
    });
    const shared = new SharedResources();
    const steps: object[] = [
      { post: "/login" },
      { get: "/", headers: { cookie: "sid=mine; lang=en" } },
      { get: "/leave" },
    ];
    for (const step of steps) assert.deepEqual(await run(base, step, { shared }), { kind: "succeeded" });
    await run(base, { get: "/next" });
    assert.deepEqual(seen, [
      "/login undefined",
      "/account at=1; sid=7",
      "/ sid=mine; lang=en",
      "/leave sid=7",
      "other undefined",
      "/next undefined",
    ]);
  });

  it("keeps cookies as browsers do on this machine: secure ones too, and whatever signs are in them", async () => {
    const seen: unknown[] = [];
    const base = await serve(({ url, headers }, response) => {
      if (url !== "/login") seen.push(headers.cookie);
      else
        response.setHeader("set-cookie", [
          "sid=7; Path=/; Secure; HttpOnly; SameSite=None",
          "lang=en; Path=/; Expires=Tue, 22 Jun 2038 10:09:02 GMT",
          'cart="a=1, b=2"; Path=/; expires=Tue, 22-Jun-38 10:09:02 GMT',
          "__Host-csrf=x; Path=/; Secure",
          "old=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ]);
      response.end();
    });
    for (const origin of [base, base.replace("127.0.0.1", "localhost")]) {
      const { stepContext } = stepContextFor("/");
      for (const get of ["/login", "/"]) await run(origin, { get }, stepContext);
    }
    const all = 'sid=7; lang=en; cart="a=1, b=2"; __Host-csrf=x';
    assert.deepEqual(seen, [all, all]);
  });

  it("sends a resource's headers to the origin of its address alone", async () => {
    const seen: unknown[] = [];
    const listener: RequestListener = ({ headers }, response) => {
      seen.push([headers.authorization, headers["x-own"]]);
      response.end();
    };
    const other = await serve(listener);
    const base = await serve(listener);
    const resource = { "base-url": `${base}/api`, headers: { authorization: "Bearer secret" } };
    for (const get of ["/a", `${base}/b`, other]) {
      const step = { use: "s", get, headers: { "x-own": "1" } };
      const [read] = pipelineOf({ resources: { s: { type: "http", ...resource } }, steps: [step] }).steps;
      assert.ok(read?.type === "http");
      await runHttpStep(read, stepContextFor("/").stepContext);
    }
    assert.deepEqual(seen, [
      ["Bearer secret", "1"],
      ["Bearer secret", "1"],
      [undefined, "1"],
    ]);
  });

  it("has had enough of a stream of events once it is as expected, and else tells what came", async () => {
    const base = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("event: hello\n\n");
    });
    assert.deepEqual(await run(base, { get: "/", expect: { text: "event: hello" } }), { kind: "succeeded" });
    // As it came: a terminal would show the last line alone.
    const byReturns = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("data: re\u00adady\rdata: more\r\r");
    });
    const ready = { get: "/", expect: { text: "re\u00adady" } };
    assert.deepEqual(await run(byReturns, ready), { kind: "succeeded" });
    assert.match(
      message(await run(base, { get: "/", timeout: "1s", expect: { text: "event: bye" } })),
      /^expected `event: bye` in the reply, .*\n.* replied with 200, and 14 bytes came, but the reply didn't end within 1 s/,
    );
  });

  it("finds a text of a stream wherever its pieces end, and decodes each piece once", async () => {
    const text = "data: Zo\u00eb\n\ndata: two\n\n";
    const base = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      const bytes = [...Buffer.from(text)];
      const next = () => {
        const byte = bytes.shift();
        if (byte !== undefined && !response.destroyed)
          response.write(Buffer.of(byte), () => setImmediate(next));
        else response.end();
      };
      next();
    });
    for (const expected of ["o\u00eb\n\nd", "two", "/^data: two$/"]) {
      assert.deepEqual(await run(base, { get: "/", expect: { text: expected } }), { kind: "succeeded" });
    }
    const pieces: string[] = [];
    const signal = new AbortController().signal;
    await using connection = new Connection(await routeOf(straight, "/"));
    await sendRequest(
      { method: "GET", url: new URL(base), headers: {}, body: undefined, redirects: 10 },
      {
        connection,
        session: new HttpSession(),
        show: (address) => address,
        onRedirect: () => {},
        isEnough: (piece) => pieces.push(piece) < 0,
        timeout: signal,
        late: undefined,
        hashes: false,
      },
      signal,
    );
    assert.equal(pieces[0], "");
    assert.equal(pieces.join(""), text);
  });

  it("reads a stream no further once it is too late for what is expected", async () => {
    const base = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("event: hello\n\n");
    });
    assert.match(
      message(await run(base, { get: "/", timeout: "1h", expect: { text: "bye", time: "100ms" } })),
      /^expected `bye` in the reply, which says: event: hello(?:\nexpected the reply within 100 ms, it took .*)?$/,
    );
  });

  it("takes what a server hints early for no reply", async () => {
    const base = await serve((_, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeProcessing();
      response.end("here");
    });
    for (let times = 0; times < 2; times += 1)
      assert.deepEqual(await run(base, { get: "/", expect: { status: 200, text: "here" } }), {
        kind: "succeeded",
      });
  });

  it("reads a reply that says to be compressed and has no body", async () => {
    const base = await serve((request, response) =>
      response.writeHead(Number(request.url?.slice(1)), { "content-encoding": "gzip" }).end(),
    );
    for (const status of [200, 204, 304, 404]) {
      const outcome = await run(base, { get: `/${status}`, expect: { status } });
      assert.deepEqual(outcome, { kind: "succeeded" }, String(status));
    }
  });

  it("reads a reply in each way of compression, and several of them, and shows the header that says so", async () => {
    const whole = "found it".repeat(1000);
    const sent: Record<string, Buffer> = {
      gzip: gzipSync(whole),
      "x-gzip": gzipSync(whole),
      br: brotliCompressSync(whole),
      zstd: zstdCompressSync(whole),
      deflate: deflateSync(whole),
      "Deflate ": deflateRawSync(whole),
      "gzip, br": brotliCompressSync(gzipSync(whole)),
      "utf-8": Buffer.from(whole),
    };
    const base = await serve((request, response) => {
      const encoding = decodeURIComponent(request.url?.slice(1) ?? "");
      response.writeHead(200, { "content-encoding": encoding }).end(sent[encoding]);
    });
    for (const encoding of Object.keys(sent)) {
      const expect = { text: whole, headers: { "content-encoding": encoding.trim() } };
      const outcome = await run(base, { get: `/${encodeURIComponent(encoding)}`, expect });
      assert.deepEqual(outcome, { kind: "succeeded" }, encoding);
    }
  });

  it("says that a reply isn't compressed as it says to be, or ends early", async () => {
    const base = await serve((request, response) => {
      const [, encoding, length] = (request.url ?? "").split("/");
      response.writeHead(200, { "content-encoding": encoding });
      response.end(length === undefined ? '{"ok":true}' : gzipSync("cut off").subarray(0, Number(length)));
    });
    for (const path of ["gzip", "br", "zstd", "deflate", "gzip/1", "gzip/12"])
      assert.match(
        message(await run(base, { get: `/${path}` })),
        /bytes came; then the reply of \S+ isn't compressed as its header `content-encoding` says, or not all of it came/,
        path,
      );
  });

  it("takes headers as long as browsers do", async () => {
    const base = await serve((_request, response) =>
      response.setHeader("content-security-policy", "a".repeat(100_000)).end(),
    );
    assert.deepEqual(await run(base, { get: "/" }), { kind: "succeeded" });
  });

  it("finds what is expected of a header in each that came of its name", async () => {
    const base = await serve((_request, response) =>
      response.setHeader("set-cookie", ["a=1; Path=/", "session=2; Path=/; HttpOnly"]).end(),
    );
    for (const expected of ["a=1", "session=2; Path=/", "/^session=\\d; .*HttpOnly$/"]) {
      const outcome = await run(base, { get: "/", expect: { headers: { "set-cookie": expected } } });
      assert.deepEqual(outcome, { kind: "succeeded" }, expected);
    }
  });

  it("says what of a reply breaks HTTP", async () => {
    for (const [reply, said] of [
      [
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nready",
        /breaks HTTP: a wrong line end in its head, .*Missing expected CR/,
      ],
      ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nready", /`content-length` says/],
      [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        /sent 100 Continue or .*, which nobody asked for$/,
      ],
      ["HTTP/1.1 099 Odd\r\n\r\n", /^the reply of [^ ]+ breaks HTTP, perhaps by its status/],
      ["HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", /breaks HTTP: Invalid header token$/],
    ] as const) {
      assert.match(message(await run(await serveTcp(reply), { get: "/" })), said);
    }
  });

  it("compares whole numbers of any size digit by digit", async () => {
    const base = await serve((_request, response) =>
      response.end('{ "id": 9007199254740993, "small": 9007199254740991 }'),
    );
    assert.deepEqual(await run(base, { get: "/", expect: { json: { small: 9007199254740991 } } }), {
      kind: "succeeded",
    });
    assert.equal(
      message(await run(base, { get: "/", expect: { json: { id: "9007199254740993" } } })),
      '$.id: expected "9007199254740993", got 9007199254740993',
    );
  });

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    return listen(server);
  }

  async function serveTcp(greeting: string): Promise<string> {
    const server = createTcpServer((socket) => {
      sockets.push(socket.on("error", () => {}));
      socket.end(greeting);
    });
    servers.push(server);
    return listen(server);
  }
});

async function run(base: string, file: object, changes: Partial<StepContext> = {}): Promise<StepOutcome> {
  const [step] = pipelineOf({
    resources: { s: { type: "http", "base-url": base } },
    steps: [{ use: "s", ...file }],
  }).steps;
  assert.ok(step?.type === "http");
  return outcomeOf(runHttpStep(step, stepContextFor("/", changes).stepContext));
}

function listen(server: Server | TcpServer): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`);
    });
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  return body;
}

function message(outcome: StepOutcome): string {
  return outcome.kind === "failed" ? outcome.message : assert.fail("the step succeeded");
}
