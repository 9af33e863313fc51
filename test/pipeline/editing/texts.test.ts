import assert from "node:assert/strict";
import { type Shape, topShape, typeShapes } from "../../../src/pipeline/editing/shape.ts";
import { templates } from "../../../src/pipeline/editing/templates.ts";
import { parsePipeline } from "../../../src/pipeline/parse/parsePipeline.ts";
import { pipelineTexts } from "../../../src/pipeline/schema/pipelineTexts.ts";
import { browserResourceTexts, browserStepTexts } from "../../../src/pipeline/types/browser.ts";
import { cliResourceTexts, cliStepTexts } from "../../../src/pipeline/types/cli.ts";
import { httpResourceTexts, httpStepTexts } from "../../../src/pipeline/types/http.ts";
import { sqlResourceTexts, sqlStepTexts } from "../../../src/pipeline/types/sql.ts";

describe("what is said of the pipeline file's fields", () => {
  const parts = {
    "the file": [topShape, pipelineTexts],
    "an http resource": [typeShapes.http.resource, httpResourceTexts],
    "an http step": [typeShapes.http.step, httpStepTexts],
    "an sql resource": [typeShapes.sql.resource, sqlResourceTexts],
    "an sql step": [typeShapes.sql.step, sqlStepTexts],
    "a browser resource": [typeShapes.browser.resource, browserResourceTexts],
    "a browser step": [typeShapes.browser.step, browserStepTexts],
    "a cli resource": [typeShapes.cli.resource, cliResourceTexts],
    "a cli step": [typeShapes.cli.step, cliStepTexts],
  } as const;
  for (const [part, [shape, texts]] of Object.entries(parts)) {
    it(`is said of each field of ${part}, and of no other`, () => {
      assert.deepEqual(Object.keys(texts).sort(), fieldsOf(shape, "").sort());
      for (const { meaning } of Object.values(texts)) assert.match(meaning, /^[A-Z].*\.$/s);
    });
  }
});

describe("the templates of a new pipeline", () => {
  for (const { id, text, firstWords } of templates) {
    it(`are valid pipelines: ${id}`, () => {
      const parsed = parsePipeline(text, "new.yaml");
      assert.equal(parsed.kind, "valid", JSON.stringify(parsed));
      assert.ok(text.includes(firstWords));
    });
  }

  it("show each type of resource, and one all of them", () => {
    const typesIn = (id: string) => {
      const parsed = parsePipeline(templates.find((template) => template.id === id)?.text ?? "", "new.yaml");
      return parsed.kind === "valid" ? parsed.pipeline.resources.map(({ type }) => type).sort() : [];
    };
    for (const type of ["http", "sql", "browser", "cli"]) assert.deepEqual(typesIn(type), [type]);
    assert.deepEqual(typesIn("all four"), ["browser", "cli", "http", "sql"]);
  });
});

function fieldsOf(shape: Shape, prefix: string): string[] {
  const inner = shape.item === undefined ? [] : fieldsOf(shape.item, prefix);
  return [
    ...inner,
    ...[...shape.fields.values()].flatMap((field) => {
      const path = prefix === "" ? field.name : `${prefix}.${field.name}`;
      return [path, ...fieldsOf(field.shape, path)];
    }),
  ];
}
