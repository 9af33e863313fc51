import assert from "node:assert/strict";
import { isExempt } from "../../../../src/client/http/proxy/noProxy.ts";

describe("a list of hosts that need no proxy", () => {
  const cases: [list: string, exempt: string[], proxied: string[]][] = [
    ["", [], ["https://service.example/"]],
    [" , ,", [], ["https://service.example/"]],
    ["*", ["https://service.example/", "https://[2001:db8::1]:8443/"], []],
    [
      "example.com",
      ["https://example.com/", "https://a.b.example.com/", "https://EXAMPLE.com./"],
      ["https://notexample.com/", "https://example.com.evil.example/", "https://example.co/"],
    ],
    [".example.com", ["https://a.example.com/", "https://example.com/"], ["https://notexample.com/"]],
    ["*.Example.COM.", ["https://a.example.com/"], ["https://notexample.com/"]],
    ["example", ["https://service.example/", "https://example/"], ["https://example.com/"]],
    [
      "example.com:8443",
      ["https://example.com:8443/", "https://a.example.com:8443/"],
      ["https://example.com/", "https://example.com:84/"],
    ],
    ["example.com:443", ["https://example.com/"], ["https://example.com:8443/", "http://example.com/"]],
    ["*:8443", ["https://example.com:8443/"], ["https://example.com/"]],
    [
      "a.example, b.example  c.example,,",
      ["https://b.example/", "https://c.example/"],
      ["https://d.example/"],
    ],
    ["10.0.0.1", ["https://10.0.0.1/"], ["https://10.0.0.10/", "https://a.10.0.0.1.example/"]],
    ["0.0.1", [], ["https://10.0.0.1/"]],
    ["10.0.0.0/8", ["https://10.200.3.4/"], ["https://11.0.0.1/", "https://service.example/"]],
    ["10.0.0.0/33,10.0.0.0/,/8,10.0.0.0/8/8,10.0.0.0/x", [], ["https://10.0.0.1/"]],
    ["[2001:db8::1]", ["https://[2001:db8::1]/"], ["https://[2001:db8::2]/"]],
    ["2001:db8::1", ["https://[2001:db8::1]/"], ["https://[2001:db8::11]/"]],
    ["[2001:db8::1]:8443", ["https://[2001:db8::1]:8443/"], ["https://[2001:db8::1]/"]],
    ["2001:db8::/32", ["https://[2001:db8:ffff::1]/"], ["https://[2001:db9::1]/", "https://32.1.13.184/"]],
  ];
  for (const [list, exempt, proxied] of cases) {
    it(`like "${list}"`, () => {
      for (const url of exempt) assert.ok(isExempt(new URL(url), list), `${url} is exempt`);
      for (const url of proxied) assert.ok(!isExempt(new URL(url), list), `${url} is not exempt`);
    });
  }
});
