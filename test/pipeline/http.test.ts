// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { connectTarget } from "../../src/pipeline/file/address.ts";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";

function parse(resource: string, step: string) {
  const base = '"http://h.test"';
  return parsePipeline(
    `inputs: { a: "1" }\nresources:\n  s: { type: http, base-url: ${base}${resource} }\nsteps:\n  - { use: s, ${step} }\n`,
    "http.yaml",
  );
}

function problems(resource: string, step: string): readonly string[] {
  const parsed = parse(resource, step);
  assert.equal(parsed.kind, "invalid", "there is no problem");
  return parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

describe("what an http step of a pipeline file says", () => {
  const value = "${{ inputs.a }}";

  for (const [what, resource, step] of [
    ["a query", "", 'get: /, query: { a: 1, b: [x, 2, true], "${{ inputs.a }}": "${{ inputs.a }}" }'],
    ["another method", "", "request: { method: PROPFIND, path: / }, body: x"],
    ["a method that only the run knows", "", 'request: { method: "${{ inputs.a }}", path: / }'],
    ["a form", "", `post: /, form: { a: "${value}", b: [] }`],
    [
      "parts",
      "",
      `post: /, multipart: { file: "${value}", f: { file: a/b.png, type: "${value}", filename: "${value}" }, l: [a, { file: c }] }`,
    ],
    ["a file", "", 'put: /, file: images/lamp.png, headers: { content-type: "image/png" }'],
    ["headers that come several times", ", headers: { a: [b, 1] }", `get: /, headers: { c: ["${value}"] }`],
    [
      "who asks",
      `, auth: { basic: { user: "${value}", password: "\${{ env.P }}" } }`,
      "get: /, auth: { basic: { user: ada, password: 1 } }",
    ],
    ["cookies and redirects", ", cookies: false, redirects: 20", "get: /, cookies: true, redirects: 0"],
    [
      "certificates",
      `, tls: { ca: "certs/${value}.pem", cert: a.pem, key: "\${{ env.KEY }}", verify: false }`,
      "get: /",
    ],
    ["a proxy", `, proxy: "http://\${{ env.USER }}:\${{ env.P }}@${value}"`, "get: /"],
    [
      "other addresses",
      ', connect-to: { "a.test:443": "127.0.0.1:8443", "*.test": b.test, "*": "unix:/run/a.sock", "[::1]": "[::2]:1" }',
      "get: /",
    ],
    [
      "what is kept, and what is expected",
      "",
      `get: /, keep: false, expect: { json-schema: a.json, sha256: ${"aB".repeat(32)} }`,
    ],
    ["an OpenAPI document", ", openapi: docs/api.yaml", "get: /, openapi: reply"],
    ["no OpenAPI document for once", ", openapi: docs/api.yaml", "get: /, openapi: false"],
    ["a hash that only the run knows", "", `get: /, expect: { sha256: "${value}" }`],
  ] as const) {
    it(`can be ${what}`, () => {
      const parsed = parse(resource, step);
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
    });
  }

  for (const [what, resource, step, ...told] of [
    [
      "two requests",
      "",
      "get: /, request: { method: PURGE, path: / }",
      "5:23: a step sends one request, and this one already has `get`",
    ],
    [
      "a method that is none",
      "",
      "request: { method: A B, path: / }",
      "5:34: this is no HTTP method, such as `PURGE`",
    ],
    [
      "a tunnel",
      "",
      "request: { method: connect, path: / }",
      "5:34: CONNECT asks a proxy for a tunnel: see the resource's `proxy`",
    ],
    ["a method without a path", "", "request: { method: PURGE }", "5:24: `request` needs `path`"],
    ["a list within a list", "", "get: /, query: { a: [[b]] }", "5:35: expected text, or a list of texts"],
    [
      "two bodies",
      "",
      "post: /, form: { a: b }, file: c",
      "5:40: a request has one body: `form` or `file`, not both",
    ],
    [
      "a form without a body",
      "",
      "get: /, form: { a: b }",
      "5:23: a get request has no body; `request` sends one with any method",
    ],
    [
      "a part that is none",
      "",
      "post: /, multipart: { a: { path: b } }",
      "5:40: `a` needs `file`",
      "5:42: `a` has no `path`",
    ],
    [
      "the type of all parts",
      "",
      "post: /, multipart: { a: b }, headers: { Content-Type: multipart/form-data }",
      "5:56: leave this header out: `multipart` sends its own, with what is between the parts",
    ],
    [
      "several statuses as a list",
      "",
      "get: /, expect: { status: [200, 201] }",
      "5:41: expected one status; several are a condition: `that: this.status == 200 || this.status == 201`",
    ],
    [
      "what Hurl calls options",
      "",
      "get: /, options: { retry: 3 }",
      "5:32: this is the method, with a path such as `options: /`; what Hurl calls options are fields here",
    ],
    ...["../a", "/etc/passwd", "a/../../b", "C:\\a"].map(
      (path) =>
        [
          `a file elsewhere, ${path}`,
          "",
          `post: /, file: '${path}'`,
          "5:30: this leads out of the project's folder; name a file by its path from there",
        ] as const,
    ),
    [
      "a part from elsewhere",
      "",
      "post: /, multipart: { a: [{ file: ../b }] }",
      "5:49: this leads out of the project's folder; name a file by its path from there",
    ],
    [
      "a schema from elsewhere",
      "",
      "get: /, expect: { json-schema: /a.json }",
      "5:46: this leads out of the project's folder; name a file by its path from there",
    ],
    [
      "a certificate from elsewhere",
      ", tls: { ca: ../a }",
      "get: /",
      "3:58: this leads out of the project's folder; name a file by its path from there",
    ],
    [
      "a file that only the run knows",
      "",
      `post: /, file: "${value}"`,
      "5:30: nothing can be filled in here",
    ],
    [
      "a part's file that only the run knows",
      "",
      `post: /, multipart: { a: { file: "${value}" } }`,
      "5:48: nothing can be filled in here",
    ],
    [
      "a schema that only the run knows",
      "",
      `get: /, expect: { json-schema: "${value}" }`,
      "5:46: nothing can be filled in here",
    ],
    [
      "an OpenAPI document from elsewhere",
      ", openapi: ../api.yaml",
      "get: /",
      "3:56: this leads out of the project's folder; name a file by its path from there",
    ],
    ["an OpenAPI document of a step", "", "get: /, openapi: api.yaml", "5:32: expected `reply` or `false`"],
    [
      "what the same header says",
      ", auth: { basic: { user: a, password: b } }, headers: { Authorization: c }",
      "get: /",
      "3:101: this header is what `auth` sends: write one of them",
    ],
    [
      "a user with a colon",
      "",
      'get: /, auth: { basic: { user: "a:b", password: c } }',
      "5:46: the user of `auth` can't contain a colon, which ends it",
    ],
    ["no password", "", "get: /, auth: { basic: { user: a } }", "5:38: `basic` needs `password`"],
    ["too many redirects", "", "get: /, redirects: 21", "5:34: this is too large: at most 20"],
    ["no number of redirects", "", "get: /, redirects: false", "5:34: expected a number"],
    [
      "a certificate without its key",
      ", tls: { cert: a }",
      "get: /",
      "3:52: a certificate has a key: write both, `cert` and `key`",
    ],
    ["no word for whether", ", tls: { verify: no }", "get: /", "3:62: expected true or false"],
    [
      "no proxy",
      ", proxy: 127.0.0.1:3128",
      "get: /",
      "3:54: expected the address of a proxy, such as `http://127.0.0.1:3128`",
    ],
    [
      "a proxy with a path",
      ", proxy: http://p.test/a",
      "get: /",
      "3:54: expected the address of a proxy, such as `http://127.0.0.1:3128`",
    ],
    [
      "a proxy and another address",
      ", proxy: http://p.test, connect-to: { a: b }",
      "get: /",
      "3:69: with a `proxy` all connections go there: it says itself where it connects to",
    ],
    [
      "another address of an address",
      ', connect-to: { "http://a.test": b }',
      "get: /",
      "3:78: a host stands here, such as `shop.example`, `shop.example:443`, `*.shop.example` or `*`",
    ],
    [
      "an address that is none",
      ', connect-to: { a: "b:c" }',
      "get: /",
      "3:64: an address stands here, such as `127.0.0.1`, `127.0.0.1:8443` or `unix:/run/shop.sock`",
    ],
    [
      "a line break in a header",
      "",
      'get: /, headers: { a: [b, "c\\nd"] }',
      "5:41: this header has a line break in its value, which HTTP can't carry",
    ],
    [
      "a hash that is none",
      "",
      "get: /, expect: { sha256: abc }",
      "5:41: expected a SHA-256: 64 hexadecimal digits",
    ],
  ] as const) {
    it(`can't be ${what}`, () => assert.deepEqual(problems(resource, step), told));
  }
});

describe("`connect-to`", () => {
  it("leads a host elsewhere by the first entry that fits its name and port", () => {
    const entries = {
      "shop.test:8443": "127.0.0.1:1",
      "Shop.test": "127.0.0.1",
      "*.shop.test": "[::1]:2",
      "*.shop.test:80": "never.test",
      "[::2]": "unix:/run/a:b.sock",
    };
    const host = (hostname: string, port?: string) => ({ kind: "host", hostname, port });
    for (const [address, target] of [
      ["https://shop.test:8443/a", host("127.0.0.1", "1")],
      ["https://shop.test/a", host("127.0.0.1")],
      ["http://a.shop.test", host("::1", "2")],
      ["http://shop.test.evil", undefined],
      ["http://ashop.test", undefined],
      ["http://[::2]:7", { kind: "socket", path: "/run/a:b.sock" }],
    ] as const) {
      assert.deepEqual(connectTarget(entries, new URL(address)), target, address);
    }
    assert.deepEqual(connectTarget({ "*:443": "b" }, new URL("https://any.test")), host("b"));
    assert.equal(connectTarget({ "*:443": "b" }, new URL("http://any.test")), undefined);
  });
});
