import assert from "node:assert/strict";
import fc from "fast-check";
import { parseDuration } from "../../../src/pipeline/file/duration.ts";
import { nearestName } from "../../../src/pipeline/mistakes/problem.ts";

describe("the nearest name", () => {
  it("is the one a slip of the finger away", () => {
    assert.equal(nearestName("checkuot", ["nightly", "checkout", "check"]), "checkout");
    assert.equal(nearestName("Nightly", ["nightly"]), "nightly");
    assert.equal(nearestName("shp", ["sh", "shop"]), "sh");
    assert.equal(nearestName("gte", ["get", "put"]), "get");
  });

  it("is none when nothing is near", () => {
    assert.equal(nearestName("zebra", ["nightly", "checkout"]), undefined);
    assert.equal(nearestName("", ["a"]), undefined);
    assert.equal(nearestName("x".repeat(100_000), ["x"]), undefined);
    assert.equal(nearestName("a", []), undefined);
  });

  it("is the name itself when that is among the candidates", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1 }),
        fc.nat(),
        (names, pick) => {
          const name = names[pick % names.length] ?? "";
          assert.equal(nearestName(name, names)?.toLowerCase(), name.toLowerCase());
        },
      ),
    );
  });
});

describe("a length of time", () => {
  it("is read in milliseconds, and is refused when it is none", () => {
    assert.deepEqual(
      ["500ms", "60s", "5m", "1h", "0.5s", 30, 0.25].map(parseDuration),
      [500, 60_000, 300_000, 3_600_000, 500, 30_000, 250],
    );
    assert.deepEqual(
      ["", "s", "5 s", "-1s", "1d", "1e3s", Number.NaN, -1].map(parseDuration),
      Array(8).fill(undefined),
    );
  });
});
