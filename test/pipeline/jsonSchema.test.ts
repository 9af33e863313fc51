import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { pipelineJsonSchema } from "../../src/pipeline/pipelineFile.ts";
import { shownPipelines } from "./shownPipelines.ts";

const root = join(import.meta.dirname, "../..");

describe("the JSON Schema for editors", () => {
  const schema = builtSchema();
  const accepts = new Ajv2020({ allowUnionTypes: true }).compile(schema);

  it("is built from the definition that the parser checks by", () => {
    assert.deepEqual(schema, pipelineJsonSchema());
  });

  it("knows the fields of the file, and that there are no others", () => {
    const text = JSON.stringify(schema);
    for (const field of [
      "time-limit",
      "env-file",
      "base-url",
      "exit-code",
      "run",
      "patch",
      "options",
      "multipart",
      "timeout",
      "cwd",
    ]) {
      assert.ok(text.includes(`"${field}"`), field);
    }
    assert.ok(text.includes('"additionalProperties":false'));
  });

  for (const file of globSync("samples/pipelines/*.yaml", { cwd: root }).sort()) {
    it(`accepts ${file.replaceAll("\\", "/")}`, () => {
      accepts(parse(readFileSync(join(root, file), "utf8")));
      assert.deepEqual(accepts.errors ?? [], []);
    });
  }

  for (const { file, pipelines } of shownPipelines()) {
    it(`accepts the pipelines of ${file}`, () => {
      for (const pipeline of pipelines) {
        accepts(parse(pipeline));
        assert.deepEqual(accepts.errors ?? [], [], pipeline);
      }
    });
  }

  it("accepts a file of parts alone, which has no resources", () => {
    accepts(parse("steps: [{ include: parts/login.yaml }]"));
    assert.deepEqual(accepts.errors ?? [], []);
  });

  it("refuses what the parser refuses for its shape", () => {
    const shell = "resources: { shell: { type: cli } }";
    const page = "resources: { page: { type: browser } }";
    for (const text of [
      "resources: {}\nsteps: []",
      `${shell}\nsteps: [{ run: npm test }]`,
      `${shell}\nsteps: [{ use: shell, runn: npm test }]`,
      `${shell}\nstep: [{ use: shell, run: npm test }]`,
      `${shell}\ntime-limit: soon\nsteps: [{ use: shell, run: npm test }]`,
      "resources: { shell: { type: shell } }\nsteps: [{ use: shell, run: npm test }]",
      "resources: { shop: { type: http, url: x } }\nsteps: [{ use: shop, get: / }]",
      `${page}\nsteps: [{ use: page, goto: "http://h.test", actions: [{}] }]`,
      `${page}\nsteps: [{ use: page, goto: "http://h.test", actions: [{ click: { text: x }, press: Tab }] }]`,
    ]) {
      assert.equal(parsePipeline(text, "broken.yaml").kind, "invalid", text);
      assert.equal(accepts(parse(text)), false, text);
    }
  });
});

function builtSchema(): object {
  const schema: unknown = JSON.parse(readFileSync(join(root, "dist/pipeline.schema.json"), "utf8"));
  return typeof schema === "object" && schema !== null ? schema : assert.fail("the schema is no object");
}
