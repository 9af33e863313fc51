import assert from "node:assert/strict";
import { sizeLimits, weigh } from "../../../bench/sizeLimits.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { filesLike, textOf } from "../../extension/projectTexts.ts";

describe("what is installed", () => {
  for (const limit of sizeLimits) {
    const kilobytes = Math.round(limit.atMostBytes / 1024);
    it(`weighs no more than it is meant to: ${limit.name}, ${kilobytes} KB`, async () => {
      const bytes = await weigh(limit, projectRoot);
      assert(bytes <= limit.atMostBytes, `${Math.ceil(bytes / 1024)} KB`);
    });
  }

  it("has what signs for an object store in the tool alone, which is where a service for many machines is", () => {
    const signing = filesLike("dist/**/*.{js,cjs}").filter((file) =>
      textOf(file).includes("AWS4-HMAC-SHA256"),
    );
    assert(signing.length > 0);
    for (const file of signing) assert.match(file, /^dist\/tool\//);
  });
});
