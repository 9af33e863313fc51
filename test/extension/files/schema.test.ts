import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pipelineJsonSchema } from "../../../src/pipeline/pipelineFile.ts";

const root = join(import.meta.dirname, "../../..");

describe("the JSON Schema for those who have the extension YAML", () => {
  it("lies in the package where the manifest says", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const [{ fileMatch, url }] = manifest.contributes.yamlValidation;
    assert.equal(fileMatch, "pipelines/*.yaml");
    assert.ok(existsSync(join(root, url)), url);
    assert.match(readFileSync(join(root, ".vscodeignore"), "utf8"), /^!dist\/\*\*$/m);
  });

  it("tells what the extension tells", () => {
    const text = JSON.stringify(pipelineJsonSchema());
    for (const words of ["How long a run may take.", "Sends a GET request", "Clicks an element."]) {
      assert.ok(text.includes(words), words);
    }
  });
});
