import assert from "node:assert/strict";
import { toolbox } from "../toolbox.ts";

describe("pipeline runner", () => {
  it("takes no more slots than a request for work can name", async () => {
    await using tool = await toolbox();
    const service = ["--service", "http://127.0.0.1:9"];
    const refused = await tool.run(["runner", ...service, "--slots", "101"]);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.stderr, /--slots.*from 1 to 100/);
    // It gets as far as the key that isn't there.
    assert.equal((await tool.run(["runner", ...service, "--slots", "100"])).exitCode, 3);
  });
});
