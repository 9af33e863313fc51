import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import { pipelineSchema } from "../../src/pipeline/pipeline.ts";

const folder = join(import.meta.dirname, "../../samples/pipelines");
const samples = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));

/** One slip in a file: what stands at a place, so many characters of it, becomes something else. */
interface Slip {
  readonly at: number;
  readonly length: number;
  readonly becomes: string;
}

const slip: fc.Arbitrary<Slip> = fc.record({
  at: fc.nat(),
  length: fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, fc.nat(200)),
  becomes: fc.oneof(
    fc.constant(""),
    // What means something to YAML, to this file or to those who read the values later.
    fc.constantFrom(
      ..."\n|  |\t|- |: |{|}|[|]|,|&a |*a|<<: |!!str |'|\"|#|?|||>|---\n|...\n|%YAML 1.1\n|\u0000|\ufeff|\u2028|\ud800".split(
        "|",
      ),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference that pipeline files are written with.
      ..."null|true|-1|1e999|0x1f|1_0|.nan|12:30:45|2026-01-01|/(a+)+$/|/[/|${{|${{ env.A }}|__proto__|constructor".split(
        "|",
      ),
    ),
    fc.constantFrom("use", "type", "steps", "resources", "expect", "http", "sql", "browser", "cli", "name"),
    fc.string({ unit: "binary", maxLength: 8 }),
  ),
});

describe("a pipeline file with slips in it", function () {
  this.timeout(60_000);

  it("is read or told what is wrong with it, inside the file, whatever they are", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(slip, { minLength: 1, maxLength: 6 }),
        (sample, slips) => {
          const text = slips.reduce(slipped, sample);
          const parsed = parsePipeline(text, "a.yaml");
          if (parsed.kind === "valid") {
            // What the service accepts is what the runner's process, at the other end of a pipe, reads.
            pipelineSchema.parse(JSON.parse(JSON.stringify(parsed.pipeline)));
            return;
          }
          const lines = text.split("\n");
          for (const { message, line, column } of parsed.problems) {
            assert.ok(message.length > 0 && message.length < 400, message);
            assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}`);
            assert.ok(column >= 1 && column <= (lines[line - 1] ?? "").length + 1, `column ${column}`);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

function slipped(text: string, { at, length, becomes }: Slip): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + becomes + text.slice(start + length);
}
