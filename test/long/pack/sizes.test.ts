import assert from "node:assert/strict";
import { sizeLimits, weigh } from "../../../bench/sizeLimits.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";

describe("what is installed", () => {
  for (const limit of sizeLimits) {
    const kilobytes = Math.round(limit.atMostBytes / 1024);
    it(`weighs no more than it is meant to: ${limit.name}, ${kilobytes} KB`, async () => {
      const bytes = await weigh(limit, projectRoot);
      assert(bytes <= limit.atMostBytes, `${Math.ceil(bytes / 1024)} KB`);
    });
  }
});
