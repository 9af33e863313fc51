import assert from "node:assert/strict";
import { english, placeText } from "../../src/text/refusalText.ts";

describe("a place in the queue", () => {
  it("is told as an ordinal number", () => {
    const texts = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map((place) =>
      placeText({ place, waiting: 113 }, english).replace(" of 113", ""),
    );
    assert.deepEqual(texts, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th"]);
  });
});
