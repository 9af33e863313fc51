import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import envPaths from "env-paths";
import { dataFolder } from "../../src/machine/dataFolder.ts";

describe("the embedded service's folder", () => {
  it("is of the working folder when PIPELINE_DATA_DIR is relative, since the service works in another", () => {
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "data/mine" }), join(process.cwd(), "data", "mine"));
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "." }), process.cwd());
  });

  it("is the one that is named, or the user's own", () => {
    const named = resolve("/somewhere/else");
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: named }), named);
    const own = envPaths("pipeline-runs", { suffix: "" }).data;
    assert.equal(dataFolder({}), own);
    assert.equal(dataFolder({ PIPELINE_DATA_DIR: "" }), own);
  });
});
