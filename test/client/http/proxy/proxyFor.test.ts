import assert from "node:assert/strict";
import { inspect } from "node:util";
import { proxyFor } from "../../../../src/client/http/proxy/proxyFor.ts";
import { PipelineError } from "../../../../src/contract/errors.ts";

const service = new URL("https://service.example/api/");
const secret = "5ecre7";

describe("the proxy of the environment", () => {
  it("is none without a variable, or with empty ones", () => {
    assert.equal(proxyFor(service, {}), undefined);
    assert.equal(proxyFor(service, { HTTPS_PROXY: "", https_proxy: " ", ALL_PROXY: "" }), undefined);
    assert.equal(proxyFor(service, { HTTP_PROXY: "http://p:1" }), undefined);
  });

  const chosen: [string, Record<string, string>, string, string][] = [
    ["HTTPS_PROXY", { HTTPS_PROXY: "http://p.example:3128" }, "HTTPS_PROXY", "p.example:3128"],
    ["small letters first", { HTTPS_PROXY: "http://a:1", https_proxy: "http://b:2" }, "https_proxy", "b:2"],
    ["ALL_PROXY last", { ALL_PROXY: "http://a:1", HTTPS_PROXY: "http://b:2" }, "HTTPS_PROXY", "b:2"],
    ["ALL_PROXY when nothing else is set", { all_proxy: "http://a:1" }, "all_proxy", "a:1"],
    ["what is set, not what is empty", { https_proxy: "", HTTPS_PROXY: "http://b:2" }, "HTTPS_PROXY", "b:2"],
  ];
  for (const [name, env, variable, host] of chosen) {
    it(`is that of ${name}`, () => {
      const proxy = proxyFor(service, env);
      assert.deepEqual([proxy?.variable, proxy?.host], [variable, host]);
    });
  }

  const read: [string, string, string, number][] = [
    ["http://p.example", "http:", "p.example", 80],
    ["https://p.example", "https:", "p.example", 443],
    ["p.example:3128", "http:", "p.example", 3128],
    ["p.example", "http:", "p.example", 80],
    [" http://p.example:3128/some/path ", "http:", "p.example", 3128],
    ["HTTP://P.Example:3128/", "http:", "p.example", 3128],
    ["http://[2001:db8::1]:3128", "http:", "2001:db8::1", 3128],
    ["10.0.0.1:3128", "http:", "10.0.0.1", 3128],
  ];
  for (const [text, protocol, hostname, port] of read) {
    it(`is read from ${text}`, () => {
      const proxy = proxyFor(service, { HTTPS_PROXY: text });
      assert.deepEqual([proxy?.protocol, proxy?.hostname, proxy?.port], [protocol, hostname, port]);
      assert.equal(proxy?.authorization, undefined);
    });
  }

  const users: [string, string][] = [
    [`me:${secret}`, `me:${secret}`],
    ["me", "me:"],
    ["me%40work:a%3Ab%2Fc", "me@work:a:b/c"],
    ["me:100%", "me:100%"],
    ["m%C3%A9:p", "mé:p"],
    ["a:b@c", "a:b@c"],
  ];
  for (const [written, meant] of users) {
    it(`has the user and the password of ${written}@`, () => {
      const proxy = proxyFor(service, { HTTPS_PROXY: `http://${written}@p.example:3128` });
      assert.equal(proxy?.authorization, `Basic ${Buffer.from(meant).toString("base64")}`);
      assert.equal(proxy?.host, "p.example:3128");
    });
  }

  it("is never asked for this machine's own addresses, whatever NO_PROXY says", () => {
    const env = { HTTPS_PROXY: "http://p:1", HTTP_PROXY: "http://p:1", ALL_PROXY: "%", NO_PROXY: "other" };
    for (const own of [
      "http://127.0.0.1:1/",
      "https://localhost:2/",
      "http://[::1]:3/",
      "http://127.9.9.9/",
    ]) {
      assert.equal(proxyFor(new URL(own), env), undefined);
    }
  });

  it("is not asked for what NO_PROXY names", () => {
    const env = { HTTPS_PROXY: "http://p:1" };
    assert.equal(proxyFor(service, { ...env, NO_PROXY: ".example" }), undefined);
    assert.equal(proxyFor(service, { ...env, no_proxy: "service.example:443" }), undefined);
    assert.equal(proxyFor(service, { ...env, no_proxy: "other", NO_PROXY: ".example" })?.host, "p:1");
  });

  const wrong: [string, RegExp][] = [
    ["http://", /^HTTPS_PROXY is not the address of a proxy\.$/],
    [`http://me:${secret}@`, /is not the address/],
    [`http://me:${secret}#1@p.example:3128`, /is not the address/],
    [`http://me:12#${secret}@p.example:3128`, /is not the address/],
    [`http://me:12/${secret}@p.example:3128`, /is not the address/],
    [`http://me:12?${secret}@p.example:3128`, /is not the address/],
    [`http://me:${secret}%ff@p.example`, /not percent-encoded UTF-8/],
    ["http://p.example:99999", /is not the address/],
    [
      "socks5://p.example:1080",
      /^HTTPS_PROXY names a socks5 proxy; only http and https proxies can be used\.$/,
    ],
    [`ftp://${secret}@p.example`, /names another kind of proxy/],
  ];
  for (const [text, message] of wrong) {
    it(`that is written ${text} is refused without being repeated`, () => {
      assert.throws(
        () => proxyFor(service, { HTTPS_PROXY: text }),
        (error) => {
          assert.ok(error instanceof PipelineError);
          assert.equal(error.type, "invalid-request");
          assert.match(error.message, message);
          assert.ok(!inspect(error).includes(secret));
          assert.match(
            error.next,
            /^(?:Write HTTPS_PROXY like |Set HTTPS_PROXY to one of those, or name service\.example)/,
          );
          return true;
        },
      );
    });
  }
});
