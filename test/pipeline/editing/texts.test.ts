import assert from "node:assert/strict";
import { type Shape, topShape, typeShapes } from "../../../src/pipeline/editing/shape.ts";
import { templates } from "../../../src/pipeline/editing/templates.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { resourceTypeNames } from "../../../src/pipeline/types/resultFields.ts";
import { fieldsOf } from "../fieldsOf.ts";

describe("what is said of the pipeline file's fields", () => {
  const parts: readonly (readonly [string, Shape | undefined])[] = [
    ["the file", topShape],
    ...resourceTypeNames.flatMap((name) => {
      const shapes = typeShapes.get(name);
      return [
        [`a resource of type ${name}`, shapes?.resource] as const,
        [`a step of type ${name}`, shapes?.step] as const,
      ];
    }),
  ];
  for (const [part, shape] of parts) {
    it(`is said of each field of ${part}`, () => {
      for (const { path, text } of fieldsOf(shape)) assert.match(text?.meaning ?? "", /^[A-Z].*\.$/s, path);
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
