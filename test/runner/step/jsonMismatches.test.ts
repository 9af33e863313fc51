import assert from "node:assert/strict";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { describeMismatches } from "../../../src/runner/step/jsonMismatches.ts";

describe("what differs from an expected value", () => {
  it("says once which members there are where one is missing, without a secret among them", () => {
    const mask = new Mask(["tok3n-of-ada"]);
    assert.deepEqual(describeMismatches({ id: 1, name: 2 }, { Id: 1, "tok3n-of-ada": 2 }, mask), [
      "$.id: expected 1, got nothing; $ has Id, ***",
      "$.name: expected 2, got nothing",
    ]);
  });
});
