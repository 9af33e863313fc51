import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { includeShape, stepWithoutResource, topShape } from "../../src/pipeline/editing/shape.ts";
import { contexts, functions, isFunctionName, signatureOf } from "../../src/pipeline/expression/names.ts";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { everyResultField, resultFields } from "../../src/pipeline/types/resultFields.ts";
import { fieldsOf } from "./fieldsOf.ts";
import { sampleOf, samplePart, shownPipelines } from "./shownPipelines.ts";

const root = join(import.meta.dirname, "../..");
const page = (name: string) => readFileSync(join(root, "docs", name), "utf8");

describe("the pipelines that the documentation shows", () => {
  for (const { file, pipelines } of shownPipelines()) {
    it(`can be run as they stand in ${file}`, () => {
      for (const pipeline of pipelines) {
        const parsed = parsePipeline(pipeline, "shown.yaml", samplePart);
        assert.deepEqual(parsed.kind === "invalid" ? parsed.problems : [], [], pipeline);
      }
    });
  }

  it("are the samples where they say so", () => {
    const shown = shownPipelines().flatMap(({ pipelines }) => pipelines);
    const samples = shown.flatMap((pipeline) => {
      const path = sampleOf(pipeline);
      return path === undefined ? [] : [{ path, text: pipeline.slice(pipeline.indexOf("\n") + 1) }];
    });
    assert.notEqual(samples.length, 0);
    for (const { path, text } of samples) {
      const sample = readFileSync(join(root, "samples", path), "utf8");
      // What the page says above it, the sample says in its first lines.
      assert.equal(text, sample.replace(/^(?:#.*\n)+\n*/, ""), path);
    }
  });
});

describe("the documentation of the pipeline file", () => {
  it("has every function, with what it takes and what it gives", () => {
    const written = tableRows(page("expressions.md")).filter(([call]) => /^`[\w-]+\(/.test(call ?? ""));
    const known = Object.keys(functions).flatMap((name) =>
      isFunctionName(name) ? [[`\`${signatureOf(name)}\``, functions[name].meaning]] : [],
    );
    assert.deepEqual(written, known);
  });

  it("shows every function in the sample that it names", () => {
    const sample = readFileSync(join(root, "samples/pipelines/expressions.yaml"), "utf8");
    const shown = [...sample.matchAll(/(?<![\w-])([\w-]+)\(/g)].map(([, name = ""]) => name);
    assert.deepEqual(
      Object.keys(functions).filter((name) => !shown.includes(name)),
      [],
    );
  });

  it("has every context, and what each type of step gives", () => {
    const rows = new Map(
      tableRows(page("expressions.md")).map(([first = "", ...others]) => [first, others.join()]),
    );
    for (const name of Object.keys(contexts))
      assert.ok(
        [...rows.keys()].some((first) => first.startsWith(`\`${name}`)),
        name,
      );
    const given = { ...resultFields, "every step": everyResultField };
    for (const [of, fields] of Object.entries(given)) {
      for (const field of Object.keys(fields))
        assert.match(rows.get(of) ?? "", new RegExp(`\`${field}\\b`), `${of}: ${field}`);
    }
  });

  it("has every field of the file, of a step, of an input and of a part", () => {
    const text = ["pipeline-file.md", "inputs.md", "parts.md"].map(page).join("\n");
    const inputs = topShape.fields.get("inputs")?.shape;
    const inside = [stepWithoutResource, includeShape, inputs].flatMap((shape) => fieldsOf(shape));
    for (const field of ["expect.that", ...topShape.fields.keys(), ...inside.map(({ path }) => path)]) {
      const name = field.startsWith("expect.") ? field : (field.split(".").at(-1) ?? field);
      assert.match(text, new RegExp(`[\`{ ]${name.replace("$", "\\$")}(?:\`|:)`), field);
    }
  });
});

/** The cells of every row of the page's tables. */
function tableRows(text: string): string[][] {
  return [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) =>
    row.split(" | ").map((cell) => cell.trim()),
  );
}
