import assert from "node:assert/strict";
import { isOlder, oldestNode, refuseOldNode } from "../../src/machine/versions.ts";

describe("an older version", () => {
  it("is told by its numbers, one after the other", () => {
    const sorted = ["0.4.0", "0.9.1", "0.10.0-beta.1", "0.10.0", "0.10.1", "1.0.0", "10.0.0"];
    for (const [index, one] of sorted.entries()) {
      for (const [other, another] of sorted.entries())
        assert.equal(isOlder(one, another), index < other, `${one} ${another}`);
    }
  });

  it("is never one that isn't known or is no version", () => {
    for (const odd of [undefined, "", "new", "1.2", "v1.2.3"]) {
      assert.equal(isOlder(odd, "1.0.0"), false);
      assert.equal(isOlder("0.1.0", odd), false);
    }
    assert.equal(isOlder("1.0.0+a", "1.0.0+b"), false);
    assert.equal(isOlder("1.0.0-a", "1.0.0-b"), false);
  });
});

describe("a Node.js that is too old", () => {
  it("is refused, with what to install", () => {
    refuseOldNode();
    refuseOldNode(`${oldestNode}.0`);
    assert.throws(() => refuseOldNode("20.20.2"), {
      message: "This needs Node.js 22.19 or later, and there is 20.20.2.",
      next: "Install Node.js 22.19 or later.",
    });
  });
});
