// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the pipeline's.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { DeclaredInput } from "../../src/contract/pipelines.ts";
import { declaredInputs, readInputs, requireInputs } from "../../src/pipeline/inputs.ts";

const region: DeclaredInput = {
  name: "region",
  type: "text",
  options: ["eu", "us"],
  default: "eu",
  description: "Whose prices are used",
  required: false,
};
const lamps: DeclaredInput = { name: "lamps", type: "number", required: true };
const visit: DeclaredInput = { name: "visit", type: "boolean", default: true, required: false };

describe("the inputs of a start", () => {
  it("are complete with the defaults of the file, but for a default that only a run knows", () => {
    const open = { name: "base-url", type: "text", required: false };
    assert.deepEqual(readInputs([region, visit, open], {}), {
      kind: "valid",
      values: { region: "eu", visit: true },
    });
  });

  it("are read from texts as what they are declared, and a text stays one", () => {
    const note = { name: "note", type: "text", required: true };
    const read = readInputs([lamps, visit, note], { lamps: "-2.5e3", visit: "false", note: "3" });
    assert.deepEqual(read, { kind: "valid", values: { lamps: -2500, visit: false, note: "3" } });
  });

  it("that are missing, strange, of another type or none of the options are all told at once", () => {
    const given = { regoin: "eu", region: "mars", visit: "yes" };
    assert.throws(() => requireInputs({ name: "checkout", inputs: [region, lamps, visit] }, given), {
      type: "invalid-request",
      message: [
        "`checkout` can't run with these inputs:",
        "`lamps` is missing: a number",
        "there is no input `regoin`; did you mean `region`?",
        "`region` should be one of `eu`, `us`, not `mars`",
        "`visit` should be `true` or `false`, not `yes`",
      ].join("\n"),
      next: "Give each by `--input <name>=<value>`, such as `--input lamps=1`; over HTTP, in `inputs`.",
    });
  });

  it("say what is missing with its options and its description", () => {
    const wanted = { ...region, required: true };
    const { default: _, ...missing } = wanted;
    assert.throws(() => requireInputs({ name: "a", inputs: [missing] }, {}), {
      message: "`a` can't run with these inputs:\n`region` is missing: eu or us. Whose prices are used",
    });
  });

  it("refuse a number in the place of a text, and one that would become another", () => {
    const note = { name: "note", type: "text", required: true };
    for (const [inputs, given] of [
      [[note], { note: 3 }],
      [[lamps], { lamps: "9007199254740993" }],
      [[lamps], { lamps: "0x10" }],
      [[lamps], { lamps: "" }],
      [[lamps], { lamps: " 1" }],
      [[lamps], { lamps: "1e999" }],
      [[visit], { visit: 1 }],
      [[], { constructor: "a" }],
    ] as const) {
      assert.equal(readInputs(inputs, given).kind, "invalid", JSON.stringify(given));
    }
  });

  it("are numbers as they are written by a program", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        if (Number.isInteger(number) && !Number.isSafeInteger(number)) return;
        const read = readInputs([lamps], { lamps: String(number) });
        assert.deepEqual(read, {
          kind: "valid",
          values: { lamps: number === 0 ? Number(String(number)) : number },
        });
      }),
    );
  });

  it("are declared without a default that only a run knows, and as needed only where there is none at all", () => {
    const inputs = declaredInputs({
      inputs: [
        { name: "base-url", type: "text", default: "${{ env.SHOP_URL }}" },
        { name: "lamps", type: "number", default: 2 },
        { name: "note", type: "text" },
      ],
    });
    assert.deepEqual(inputs, [
      { name: "base-url", type: "text", required: false },
      { name: "lamps", type: "number", default: 2, required: false },
      { name: "note", type: "text", required: true },
    ]);
  });
});
