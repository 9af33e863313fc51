import assert from "node:assert/strict";
import { explain } from "../../../src/pipeline/expression/evaluate.ts";
import { contexts, parsed, tools } from "./given.ts";

describe("why a condition doesn't hold", () => {
  function why(text: string, hide = (shown: string) => shown): string | undefined {
    return explain(parsed(text), contexts, { ...tools, hide });
  }

  it("is said with both sides", () => {
    assert.equal(why("length(inputs.list) == inputs.two"), "length(inputs.list) == inputs.two: 5 and 2");
    assert.equal(why("inputs.two == 2"), undefined);
    assert.equal(why("inputs.yes && inputs.two\n  >  3"), "inputs.two > 3: 2 and 3");
    assert.equal(why("inputs.yes && inputs.no && 1 == 2"), "inputs.no is false");
    assert.equal(why("inputs.no || 1 == 2"), "inputs.no is false; 1 == 2: 1 and 2");
    assert.equal(why("!inputs.yes"), "inputs.yes is true");
    assert.equal(why("!(inputs.two == 2)"), "inputs.two == 2 is true: 2 and 2");
    assert.equal(why("!(inputs.no || inputs.two != 1)"), "inputs.two != 1 is true: 2 and 1");
    assert.equal(why("!(inputs.yes && 1 < 2)"), "inputs.yes is true; 1 < 2 is true: 1 and 2");
    assert.equal(why("!exists(steps.order.json.error)"), "steps.order.json.error is there: null");
    assert.equal(
      why("exists(steps.order.json.idd)"),
      "steps.order.json.idd isn't there; steps.order.json has id, total, error",
    );
    assert.equal(why("contains(inputs.text, 'x')"), `contains(inputs.text, 'x'): "Straße 😀" and "x"`);
    assert.equal(
      why("!contains(inputs.text, 'S')"),
      `contains(inputs.text, 'S') is true: "Straße 😀" and "S"`,
    );
    assert.equal(why("default(inputs.x, false)"), "default(inputs.x, false): false");
    assert.equal(why("default(inputs.no, inputs.x)"), "default(inputs.no, inputs.x): false");
    assert.equal(why("false"), "false is false");
    assert.equal(why("inputs.map.a == inputs.none"), "inputs.map.a == inputs.none: [1,2] and null");
    assert.equal(why(`1 == 2${" || 1 == 3".repeat(20)}`)?.split("; ").length, 11);
    assert.equal(
      why("uuid() == now()"),
      'uuid() == now(): "00000000-0000-4000-8000-000000000000" and "2026-11-25T13:00:00.000Z"',
    );
  });

  it("is a fault where it is neither true nor false, or has no value", () => {
    assert.throws(
      () => why("inputs.two"),
      /^ExpressionFault: inputs\.two is a number; a condition takes true and false only$/,
    );
    assert.throws(() => why("inputs.x == 1"), /inputs\.x isn't there/);
  });

  it("shows values masked, and then shortened", () => {
    const secret = `${"y".repeat(190)}hunter22hunter22`;
    const hide = (text: string) => text.replaceAll("hunter22hunter22", "***");
    const message = explain(
      parsed("inputs.a == inputs.b && true"),
      { ...contexts, inputs: { a: secret, b: "z".repeat(1000) } },
      { ...tools, hide },
    );
    const shown = [`"${"y".repeat(190)}***"`, `"${"z".repeat(199)}…`];
    assert.equal(message, `inputs.a == inputs.b: ${shown.join(" and ")}`);
  });
});
