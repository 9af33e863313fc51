import assert from "node:assert/strict";
import fc from "fast-check";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { must } from "./engine/broken.ts";
import { inputOf, keptAs } from "./engine/corpusText.ts";
import { Coverage } from "./engine/coverage.ts";
import { CurrentInput } from "./engine/currentInput.ts";
import { minimise } from "./engine/minimise.ts";
import { mutate } from "./engine/mutate.ts";
import { seededRandom } from "./engine/random.ts";
import { search } from "./engine/search.ts";
import type { Target } from "./engine/target.ts";

const covers = ["test/fuzz/planted.ts"] as const;

interface Planted {
  readonly check: (input: string) => void;
  readonly coverage: Coverage;
  readonly seed: number;
  readonly mostInputs: number;
  readonly mostSteps?: (input: string) => number;
}

function searchPlanted({ check, coverage, mostSteps, ...work }: Planted) {
  const target: Target = {
    name: "planted",
    property: "",
    covers: [...covers],
    seeds: ["hello"],
    longest: 200,
    open: () => ({ check }),
    ...(mostSteps === undefined ? {} : { mostSteps }),
  };
  return search({
    ...work,
    target,
    checker: { check },
    coverage: coverage.of(projectRoot, target.covers),
    words: ["<", "0", "]", "x", ","],
    kept: ["a"],
    seconds: 100,
    mostFindings: 1,
    onInput: () => undefined,
  });
}

describe("the search for inputs", function () {
  this.timeout(120_000);

  let coverage: Coverage;
  before(async () => {
    coverage = await Coverage.begin();
  });
  after(() => coverage[Symbol.asyncDispose]());

  it("finds what only inputs that get further each time lead to, and makes it as short as it is", async () => {
    const { depthOf } = await import("./planted.ts");
    const check = (input: string) => must(depthOf(input) < 4, "nobody finds the door", () => input);
    const { findings } = await searchPlanted({ check, coverage, seed: 1, mostInputs: 100_000 });
    assert.equal(findings[0]?.signature, "nobody finds the door");
    assert.equal(findings[0].input, "<0]x");
  });

  it("finds work that grows out of proportion", async () => {
    const { workOf } = await import("./planted.ts");
    const check = (input: string) => void workOf(input);
    const mostSteps = ({ length }: string) => 100 + 20 * length;
    const { findings } = await searchPlanted({ check, coverage, seed: 2, mostInputs: 100_000, mostSteps });
    assert.match(findings[0]?.signature ?? "", /work is bounded/);
  });

  it("finds nothing where nothing is wrong", async () => {
    const check = () => undefined;
    const { findings, inputs } = await searchPlanted({ check, coverage, seed: 3, mostInputs: 500 });
    assert.deepEqual(findings, []);
    assert.ok(inputs >= 500);
  });

  it("makes the same inputs of the same seed", () => {
    const made = (seed: number) => {
      const random = seededRandom(seed);
      return Array.from({ length: 200 }, () =>
        mutate('200\n\n{"a":[1,2]}', random, { other: "x: 1", words: ["w"], longest: 500 }),
      );
    };
    assert.deepEqual(made(5), made(5));
    assert.notDeepEqual(made(5), made(6));
    assert.ok(new Set(made(5)).size > 150);
    assert.ok(made(5).every(({ length }) => length <= 500));
  });

  it("keeps any input in a file, in ASCII where a person couldn't read it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(65_535)), (text, units) => {
        for (const input of [text, String.fromCharCode(...units)]) {
          const { extension, text: kept } = keptAs(input);
          assert.ok(kept.isWellFormed());
          assert.equal(inputOf(`a${extension}`, Buffer.from(kept).toString()), input);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("still tells the input that a thread was at when the thread is gone", () => {
    const writer = new CurrentInput();
    const reader = new CurrentInput(writer.memory);
    writer.write("\ud800long".repeat(2000));
    assert.equal(reader.count, 1);
    assert.equal(reader.read(), "\ud800long".repeat(2000));
  });

  it("leaves out of an input what doesn't matter", async () => {
    const fails = async (input: string) => input.includes("<") && input.includes(">");
    assert.equal(await minimise("some <b>text</b>", fails, 1000), "<>");
  });
});
