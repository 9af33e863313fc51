import assert from "node:assert/strict";
import { SecretFilter } from "../../../src/client/service/foreignText.ts";

const key = "prk_0123456789";

describe("a text that is passed on in pieces", () => {
  it("holds no key that two pieces hold together, wherever it is cut", () => {
    for (let at = 0; at <= key.length; at++) {
      const text = new SecretFilter(new Set([key]));
      const passed = [`a${key.slice(0, at)}`, `${key.slice(at)}b`].map((piece) => text.add(piece));
      assert.equal([...passed, text.rest()].join(""), "a(the API key)b");
    }
  });

  it("is otherwise as it was, also what only begins like a key", () => {
    const text = new SecretFilter(new Set([key]));
    assert.equal(text.add("one prk_01"), "one ");
    assert.equal(text.add("x two prk"), "prk_01x two ");
    assert.equal(text.rest(), "prk");
  });

  it("keeps back a key that is known later than its text", () => {
    const keys = new Set<string>();
    const text = new SecretFilter(keys);
    assert.equal(text.add("p"), "p");
    keys.add(key);
    assert.equal(text.add(key), "(the API key)");
  });
});
