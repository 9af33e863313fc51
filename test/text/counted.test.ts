import assert from "node:assert/strict";
import { noSuchPipeline } from "../../src/service/runs/projectPipelines.ts";
import { firstNames } from "../../src/text/counted.ts";

describe("the first of many names", () => {
  const names = Array.from({ length: 13 }, (_, index) => `n${index}`);

  it("are all where they are few, and else say how many are left out", () => {
    assert.equal(firstNames(names.slice(0, 2)), "n0, n1");
    assert.equal(firstNames(names.slice(0, 10)), names.slice(0, 10).join(", "));
    assert.equal(firstNames(names), `${names.slice(0, 10).join(", ")} and 3 more`);
  });

  it("stand in the error of a pipeline that isn't there, so that nobody takes ten for all", () => {
    const files = names.map((name) => ({ name }));
    assert.match(noSuchPipeline("publish", files, []).next ?? "", /^There are: n0, .*, n9 and 3 more\.$/);
  });
});
