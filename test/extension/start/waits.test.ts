import assert from "node:assert/strict";
import { Waits } from "../../../src/extension/start/waits.ts";

describe("the waits of a window", () => {
  it("that are two of one pipeline are given up one by one, the later first", () => {
    const waits = new Waits();
    const stopped: string[] = [];
    const wish = { pipeline: "nightly", project: "shop" };
    const begin = (name: string, of: typeof wish) => {
      const standing = waits.begin(of, () => {
        stopped.push(name);
        standing.end();
      });
      standing.update(100);
    };
    begin("earlier", wish);
    begin("another project's", { ...wish, project: "lamps" });
    begin("later", wish);
    waits.stop(wish);
    assert.deepEqual(stopped, ["later"]);
    waits.stop(wish);
    waits.stop(wish);
    assert.deepEqual(stopped, ["later", "earlier"]);
    assert.deepEqual(
      waits.current.value.map(({ project }) => project),
      ["lamps"],
    );
  });
});
