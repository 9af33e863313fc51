// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { requestOf } from "../../../src/runner/http/request.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { fillIn } from "../../../src/runner/step/fillIn.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { Listening } from "../../listening.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { messagesOf } from "./httpSteps.ts";

describe("what an http step sends", () => {
  const folder = temporaryFolder();

  it("has a query of names and values, encoded and behind that of the address, a list repeated", async () => {
    await using server = await LoopbackService.listen((_, response) => response.end());
    const query = { "a b": "c&d=é", tag: ["x", 2, true], none: [], md5: "i+S0w==", odd: "\ud800" };
    await messagesOf({ "base-url": `${server.origin}/?k=1` }, [
      { get: "/a?z=2", query },
      { get: "/b#end", query: { q: "1" } },
      { get: "/c", query: {} },
    ]);
    assert.deepEqual(
      server.asked.map(({ path }) => path),
      [
        "/a?k=1&z=2&a%20b=c%26d%3D%C3%A9&tag=x&tag=2&tag=true&md5=i%2BS0w%3D%3D&odd=%EF%BF%BD",
        "/b?k=1&q=1",
        "/c?k=1",
      ],
    );
  });

  it("has the numbers of its JSON as the file writes them, whatever is filled in around them", async () => {
    const text = [
      "resources: { s: { type: http, base-url: http://h.test } }",
      "steps:",
      "  - use: s",
      "    post: /",
      "    json:",
      "      amount: 123.00",
      '      rates: [1, 1.50, "${{ env.RATE }}", { "${{ env.NAME }}": -0.10, at: 1.0e3 }]',
      "      plain: 1.5",
      "  - { use: s, post: /, json: 70.0 }",
    ].join("\n");
    const parsed = parsePipeline(text, "p.yaml");
    assert.ok(parsed.kind === "valid", JSON.stringify(parsed));
    const bodies = [];
    for (const step of parsed.pipeline.steps) {
      const filled = fillIn(step, {
        variable: (name) => ({ RATE: "2.00", NAME: "discount" })[name],
        variablesAt: "here",
        evaluate: () => assert.fail(),
      });
      assert.ok(filled.type === "http");
      bodies.push((await requestOf(filled, folder.path)).body?.text);
    }
    assert.deepEqual(bodies, [
      '{"amount":123.00,"rates":[1,1.50,"2.00",{"discount":-0.10,"at":1.0e3}],"plain":1.5}',
      "70.0",
    ]);
  });

  it("is nothing where a value can't be written", async () => {
    const parsed = parsePipeline(
      "resources: { s: { type: http, base-url: http://h.test } }\nsteps: [{ use: s, post: /, json: 1 }]",
      "p.yaml",
    );
    assert.ok(parsed.kind === "valid");
    const [step] = parsed.pipeline.steps;
    assert.ok(step?.type === "http");
    const deep: unknown = JSON.parse("[".repeat(6_000) + "]".repeat(6_000));
    for (const [value, why] of [
      [deep, /a value is nested too deep/],
      [[Number.POSITIVE_INFINITY], /a number is beyond 1.8e308/],
    ] as const) {
      await assert.rejects(requestOf({ ...step, body: { kind: "json", value } }, folder.path), why);
      const form = { kind: "form", fields: { a: value } } as const;
      await assert.rejects(requestOf({ ...step, body: form }, folder.path), why);
    }
  });

  it("has a form's fields as its body", async () => {
    await using server = await LoopbackService.listen((_, response) => response.end());
    await messagesOf({ "base-url": server.origin }, [
      { post: "/", form: { user: "ada & bob", tag: ["a", "b+c"] } },
      { post: "/", form: { a: "1" }, headers: { "content-type": "text/odd" } },
    ]);
    assert.deepEqual(
      server.asked.map(({ headers, body }) => [headers["content-type"], headers["content-length"], body]),
      [
        ["application/x-www-form-urlencoded", "32", "user=ada+%26+bob&tag=a&tag=b%2Bc"],
        ["text/odd", "3", "a=1"],
      ],
    );
  });

  it("has the parts of a form as its body, whose names can't break out", async () => {
    await using server = await LoopbackService.listen((_, response) => response.end());
    writeFileSync(join(folder.path, "lamp.png"), "\x89PNG");
    const evil = 'x"; filename="y\r\n\r\nfake';
    const [said] = await messagesOf(
      { "base-url": server.origin, headers: { "content-type": "text/plain" } },
      [
        {
          post: "/",
          multipart: {
            note: "two\nlines",
            [evil]: 1.5,
            photo: [
              { file: "lamp.png" },
              { file: "lamp.png", type: "image/png", filename: evil },
              { file: "lamp.png", type: "a/b\r\nx-evil: 1" },
              "text",
            ],
          },
        },
      ],
      { root: folder.path },
    );
    assert.equal(said, undefined);
    const [{ headers, body } = assert.fail()] = server.asked;
    const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(headers["content-type"] ?? "")?.[1] ?? "";
    const escaped = "x%22; filename=%22y%0D%0A%0D%0Afake";
    const parts = body.split(`--${boundary}`).map((part) => part.replaceAll("\r\n", "|"));
    assert.deepEqual(parts, [
      "",
      '|Content-Disposition: form-data; name="note"||two|lines|',
      `|Content-Disposition: form-data; name="${escaped}"||1.5|`,
      '|Content-Disposition: form-data; name="photo"; filename="lamp.png"|Content-Type: application/octet-stream||\u0089PNG|',
      `|Content-Disposition: form-data; name="photo"; filename="${escaped}"|Content-Type: image/png||\u0089PNG|`,
      '|Content-Disposition: form-data; name="photo"; filename="lamp.png"|Content-Type: application/octet-stream||\u0089PNG|',
      '|Content-Disposition: form-data; name="photo"||text|',
      "--|",
    ]);
  });

  it("has a file of the project as its body, as often as a redirect asks for it", async () => {
    await using server = await LoopbackService.listen(({ path }, response) =>
      path === "/a" ? response.writeHead(307, { location: "/b" }).end() : response.end(),
    );
    writeFileSync(join(folder.path, "big.bin"), "x".repeat(300_000));
    const said = await messagesOf(
      { "base-url": server.origin },
      [
        { put: "/a", file: "big.bin" },
        { put: "/c", file: "big.bin", headers: { "content-type": "image/png" } },
      ],
      { root: folder.path },
    );
    assert.deepEqual(said, [undefined, undefined]);
    assert.deepEqual(
      server.asked.map(({ headers, body }) => [
        headers["content-type"],
        headers["content-length"],
        body.length,
      ]),
      [
        ["application/octet-stream", "300000", 300_000],
        ["application/octet-stream", "300000", 300_000],
        ["image/png", "300000", 300_000],
      ],
    );
  });

  itOn("posix", "takes no file that isn't the project's own", async () => {
    await using server = await LoopbackService.listen((_, response) => response.end());
    symlinkSync("/etc/passwd", join(folder.path, "link"));
    symlinkSync("/etc", join(folder.path, "etc"));
    mkdirSync(join(folder.path, "sub"));
    const said = await messagesOf(
      { "base-url": server.origin },
      [
        { post: "/", file: "link" },
        { post: "/", multipart: { a: { file: "etc/passwd" } } },
        { post: "/", file: "sub" },
        { post: "/", file: "gone" },
        { get: "/", expect: { "json-schema": "link" } },
      ],
      { root: folder.path },
    );
    assert.deepEqual(said, [
      `\`link\` leads out of the project's folder, ${folder.path}`,
      `\`etc/passwd\` leads out of the project's folder, ${folder.path}`,
      "`sub` is no plain file",
      `\`gone\` isn't in the project's folder, ${folder.path}`,
      `\`link\` leads out of the project's folder, ${folder.path}`,
    ]);
    assert.equal(server.asked.length, 0);
  });

  it("says that a server closed the connection in the middle of a body, and takes a reply that comes before its end", async () => {
    writeFileSync(join(folder.path, "big.bin"), "x".repeat(10_000_000));
    const server = createServer((request, response) => {
      if (request.url === "/die") request.once("data", () => request.socket.destroy());
      else response.writeHead(413).end("too much");
    });
    await using held = await Listening.of(server);
    const [died, refused] = await messagesOf(
      { "base-url": held.origin },
      [
        { put: "/die", file: "big.bin" },
        { put: "/", file: "big.bin", expect: { status: 413, text: "too much" } },
      ],
      { root: folder.path },
    );
    assert.equal(died, `${held.host} closed the connection before its reply was complete`);
    assert.equal(refused, undefined);
  });

  it("has a header as often as it has values", async () => {
    const seen: unknown[] = [];
    const server = createServer(({ rawHeaders, headers }, response) => {
      seen.push(
        rawHeaders.filter((_, index) => rawHeaders[index - 1] === "x-tag"),
        headers.cookie,
      );
      response.end();
    });
    await using held = await Listening.of(server);
    const resource = { "base-url": held.origin, headers: { "X-Tag": ["of the resource"] } };
    const headers = { "X-Tag": ["a", "Zoë", 3], cookie: ["a=1", "b=2"] };
    assert.deepEqual(await messagesOf(resource, [{ get: "/", headers }]), [undefined]);
    const utf8 = Buffer.from("Zoë").toString("latin1");
    assert.deepEqual(seen, [["a", utf8, "3"], "a=1; b=2"]);
  });

  it("says who asks to the origin of the resource alone, whatever a redirect says", async () => {
    const answer = (to?: string) =>
      LoopbackService.listen(({ path }, response) =>
        path === "/leave" ? response.writeHead(307, { location: to }).end() : response.end(),
      );
    await using other = await answer();
    await using server = await answer(`${other.origin}/`);
    const basic = (user: string, password: string) => ({ auth: { basic: { user, password } } });
    const mask = new Mask(["s3cret-pass"]);
    const said = await messagesOf(
      { "base-url": server.origin, ...basic("ada", "s3cret-pass") },
      [
        { get: "/" },
        { get: "/", ...basic("bob", "ü:1") },
        { get: "/", headers: { authorization: "Bearer x" } },
        { get: "/leave" },
        { get: "/leave", ...basic("bob", "1") },
        { get: other.origin },
        { get: other.origin, ...basic("bob", "1") },
      ],
      { mask },
    );
    assert.deepEqual(said.filter(Boolean), []);
    const sent = ({ asked }: LoopbackService) =>
      asked.map(({ headers: { authorization } }) => {
        const [scheme, text = ""] = authorization?.split(" ") ?? [];
        return scheme === "Basic" ? Buffer.from(text, "base64").toString() : authorization;
      });
    assert.deepEqual(sent(server), ["ada:s3cret-pass", "bob:ü:1", "Bearer x", "ada:s3cret-pass", "bob:1"]);
    assert.deepEqual(sent(other), [undefined, undefined, undefined, "bob:1"]);
  });

  it("says which way of asking a server wants", async () => {
    await using server = await LoopbackService.listen(({ path }, response) => {
      const asks = path === "/" ? 'Digest realm="shop", nonce="1"' : "Negotiate, NTLM";
      response.writeHead(401, { "www-authenticate": asks }).end();
    });
    const auth = { basic: { user: "ada", password: "s3cret-pass" } };
    const headers = { authorization: "negotiate YQ==" };
    const got = `expected status 2xx, got 401 from ${server.origin}`;
    assert.deepEqual(await messagesOf({ "base-url": server.origin, auth }, [{ get: "/" }]), [
      `${got}/, which asks for Digest in the header \`authorization\``,
    ]);
    assert.deepEqual(
      await messagesOf({ "base-url": server.origin }, [{ get: "/two" }, { get: "/two", headers }]),
      [`${got}/two, which asks for Negotiate in the header \`authorization\``, `${got}/two`],
    );
  });

  it("hides the password where a server shows what it was sent", async () => {
    await using server = await LoopbackService.listen(({ headers }, response) =>
      response.writeHead(403).end(`you are ${headers.authorization}`),
    );
    const auth = { basic: { user: "ada", password: "s3cret-pass" } };
    const [said = ""] = await messagesOf({ "base-url": server.origin, auth }, [{ get: "/" }], {
      mask: new Mask(["s3cret-pass"]),
    });
    assert.match(said, /you are Basic YWRh\S{0,2}\*\*\*/);
  });

  it("follows as many redirects as it says, and none with 0", async () => {
    await using server = await LoopbackService.listen(({ path }, response) =>
      response.writeHead(302, { location: `/${Number(path.slice(1)) + 1}` }).end(),
    );
    const { host } = server;
    assert.deepEqual(
      await messagesOf({ "base-url": server.origin, redirects: 0 }, [
        { get: "/0", expect: { status: "3xx" } },
        { get: "/0", expect: { status: 302, headers: { location: "/1" } } },
        { get: "/0" },
        { get: "/0", redirects: 2 },
      ]),
      [
        undefined,
        undefined,
        `expected status 2xx, got 302 from ${server.origin}/0`,
        `${host} redirects without end (2 times followed)`,
      ],
    );
  });

  it("neither sends nor keeps a cookie where it says so", async () => {
    await using server = await LoopbackService.listen(({ path }, response) => {
      if (path === "/go") {
        response.statusCode = 302;
        response.setHeader("location", "/");
      }
      response.appendHeader("set-cookie", `at=${path.slice(1)}`).end();
    });
    const cookies = () => server.asked.splice(0).map(({ headers }) => headers.cookie);
    const resource = { "base-url": server.origin };
    await messagesOf(resource, [{ get: "/one" }, { get: "/two", cookies: false }, { get: "/three" }]);
    assert.deepEqual(cookies(), [undefined, undefined, "at=one"]);
    await messagesOf({ ...resource, cookies: false }, [
      { get: "/go" },
      { get: "/", headers: { cookie: "own=1" } },
      { get: "/one", cookies: true },
      { get: "/two", cookies: true },
    ]);
    assert.deepEqual(cookies(), [undefined, undefined, "own=1", undefined, "at=one"]);
  });
});
