import assert from "node:assert/strict";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { shownPipelines } from "./shownPipelines.ts";

describe("the pipelines that the documentation shows", () => {
  for (const { file, pipelines } of shownPipelines()) {
    it(`can be run as they stand in ${file}`, () => {
      for (const pipeline of pipelines) {
        const parsed = parsePipeline(pipeline, "shown.yaml");
        assert.deepEqual(parsed.kind === "invalid" ? parsed.problems : [], [], pipeline);
      }
    });
  }
});
