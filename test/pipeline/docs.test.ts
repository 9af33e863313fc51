import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";

const root = join(import.meta.dirname, "../..");

describe("the pipelines that the documentation shows", () => {
  for (const file of ["README.md", ...globSync("docs/**/*.md", { cwd: root })]) {
    const text = readFileSync(join(root, file), "utf8");
    const pipelines = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
      /^steps:/m.test(block) ? [block] : [],
    );
    if (pipelines.length === 0) continue;
    it(`can be run as they stand in ${file}`, () => {
      for (const pipeline of pipelines) {
        const parsed = parsePipeline(pipeline, "shown.yaml");
        assert.deepEqual(parsed.kind === "invalid" ? parsed.problems : [], [], pipeline);
      }
    });
  }
});
