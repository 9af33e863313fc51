import assert from "node:assert/strict";
import { type Shape, topShape, typeShapes } from "../../../src/pipeline/editing/shape.ts";
import { templates } from "../../../src/pipeline/editing/templates.ts";
import type { FieldTexts } from "../../../src/pipeline/file/fieldTexts.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { pipelineTexts, resourceTexts, stepTexts } from "../../../src/pipeline/pipelineFile.ts";
import { resourceTypeNames } from "../../../src/pipeline/types/resourceTypeNames.ts";

describe("what is said of the pipeline file's fields", () => {
  const parts: readonly (readonly [string, Shape | undefined, FieldTexts])[] = [
    ["the file", topShape, pipelineTexts],
    ...resourceTypeNames.flatMap((name) => {
      const shapes = typeShapes.get(name);
      return [
        [`a resource of type ${name}`, shapes?.resource, resourceTexts(name)] as const,
        [`a step of type ${name}`, shapes?.step, stepTexts(name)] as const,
      ];
    }),
  ];
  for (const [part, shape, texts] of parts) {
    it(`is said of each field of ${part}, and of no other`, () => {
      assert.deepEqual(Object.keys(texts).sort(), shape && [...new Set(fieldsOf(shape, ""))].sort());
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

  it("show each type of resource", () => {
    const typesIn = (id: string) => {
      const parsed = parsePipeline(templates.find((template) => template.id === id)?.text ?? "", "new.yaml");
      return parsed.kind === "valid" ? parsed.pipeline.resources.map(({ type }) => type) : [];
    };
    for (const type of ["http", "sql", "browser", "cli"]) assert.deepEqual(typesIn(type), [type]);
  });
});

function fieldsOf(shape: Shape, prefix: string): string[] {
  const inner = [shape.item, shape.named].flatMap((each) =>
    each === undefined ? [] : fieldsOf(each, prefix),
  );
  return [
    ...inner,
    ...[...shape.fields.values()].flatMap((field) => {
      const path = prefix === "" ? field.name : `${prefix}.${field.name}`;
      return [path, ...fieldsOf(field.shape, path)];
    }),
  ];
}
