// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { ExpressionFault, type Json, writeJson } from "../../../src/pipeline/expression/value.ts";
import { marked } from "../../../src/pipeline/file/textPieces.ts";
import { type Filling, fillIn, fillValue, writtenIn } from "../../../src/runner/step/fillIn.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";

/** Fills in the values of expressions by their sources. */
function filling(values: Readonly<Record<string, Json>>): Filling {
  return {
    variable: (name) => (name === "HOME" ? "/home/me" : undefined),
    variablesAt: "here",
    evaluate: (source, scope) => {
      const found = values[`${scope === undefined ? "" : `${scope}:`}${source.trim()}`];
      if (found === undefined) throw new ExpressionFault(`${source.trim()} isn't there`);
      return found;
    },
  };
}

const http = { shop: { type: "http", "base-url": "http://127.0.0.1" } };

describe("filling in", () => {
  it("keeps the type of what stands alone, where a step holds values of any type, and makes text of all else", () => {
    const id = "${{ inputs.id }}";
    const { steps } = pipelineOf({
      inputs: { id: 1 },
      resources: http,
      steps: [
        {
          use: "shop",
          post: "/",
          json: [id, `no. ${id}`, { [id]: id }],
          headers: { "x-id": id },
          expect: { json: id, text: id },
        },
        { use: "shop", post: "/", body: id },
      ],
    });
    const [first, second] = steps.map((step) => fillIn(step, filling({ "inputs.id": [1, "a"] })));
    assert.ok(first?.type === "http");
    const text = '[1,"a"]';
    assert.deepEqual(first.body, {
      kind: "json",
      value: [[1, "a"], `no. ${text}`, { [text]: [1, "a"] }],
    });
    assert.deepEqual(first.headers, { "x-id": text });
    assert.deepEqual(first.expect.json, { value: [1, "a"] });
    assert.deepEqual(first.expect.text, [{ kind: "contains", text }]);
    assert.ok(second?.type === "http");
    assert.deepEqual(second.body, { kind: "text", text });
  });

  it("keeps the type of a value of a query and a form, and makes text of what else is sent", () => {
    const id = "${{ inputs.id }}";
    const { steps } = pipelineOf({
      inputs: { id: 1 },
      resources: { shop: { ...http.shop, auth: { basic: { user: id, password: id } } } },
      steps: [
        { use: "shop", post: "/", query: { a: id, b: ["x", id], [id]: `no. ${id}` }, form: { c: id } },
        { use: "shop", request: { method: id, path: "/" }, multipart: { [id]: id }, headers: { d: [id] } },
      ],
    });
    const [first, second] = steps.map((step) => fillIn(step, filling({ "inputs.id": [1, null] })));
    const text = "[1,null]";
    assert.ok(first?.type === "http");
    assert.deepEqual(first.query, { a: [1, null], b: ["x", [1, null]], [text]: `no. ${text}` });
    assert.deepEqual(first.body, { kind: "form", fields: { c: [1, null] } });
    assert.deepEqual(first.ofResource.auth, { user: text, password: text });
    assert.ok(second?.type === "http");
    assert.deepEqual(second.body, {
      kind: "multipart",
      parts: [{ name: text, content: { kind: "text", text } }],
    });
    assert.deepEqual([second.method, second.headers], [text, { d: [text] }]);
  });

  it("encodes a value within an address as one piece, and refuses one that would lead elsewhere", () => {
    const { steps } = pipelineOf({
      inputs: { id: "" },
      resources: { shop: { type: "http", "base-url": "${{ inputs.id }}" } },
      steps: [{ use: "shop", get: "/x/${{ inputs.id }}/y?q=${{ inputs.id }}" }],
    });
    const [step] = steps;
    assert.ok(step);
    const filled = fillIn(step, filling({ "inputs.id": "http://a/b?c&d" }));
    assert.ok(filled.type === "http");
    assert.deepEqual(filled.address, {
      base: "http://a/b?c&d",
      target: "/x/http:%2F%2Fa%2Fb%3Fc&d/y?q=http%3A%2F%2Fa%2Fb%3Fc%26d",
    });
    const problem =
      "with the value of `inputs.id` a part of the address is `.` or `..`, which would make another path of it";
    assert.throws(() => fillIn(step, filling({ "inputs.id": ".." })), { message: problem });
  });

  it("names all variables that aren't set, and else the first expression that has no value", () => {
    const fault = (text: string) => {
      try {
        return fillValue(text, filling({}));
      } catch (error) {
        return error instanceof ExpressionFault ? error.message : assert.fail(String(error));
      }
    };
    assert.equal(
      fault("${{ steps.a }} ${{ env.A }} ${{ env.B }}"),
      "the environment variables `A`, `B` aren't set here",
    );
    assert.equal(fault("${{ steps.a }} ${{ steps.b }}"), "steps.a isn't there");
    assert.equal(fault("$${{ steps.a }} ${{ env.HOME }}"), "${{ steps.a }} /home/me");
  });

  it("reads the names of the file that an expression was written for", () => {
    const text = marked("${{ inputs.a }} ${{ env.HOME }}", 2);
    assert.equal(fillValue(text, filling({ "2:inputs.a": 7 })), "7 /home/me");
  });

  it("has own members only, whatever they are called", () => {
    const filled = fillValue(
      JSON.parse('{"${{ inputs.a }}": 1, "constructor": 2}'),
      filling({ "inputs.a": "__proto__" }),
    );
    assert.equal(JSON.stringify(filled), '{"__proto__":1,"constructor":2}');
  });

  it("refuses a value of its own that can't be written as JSON", () => {
    const deep = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    assert.throws(() => fillValue(["${{ inputs.a }}"], filling({ "inputs.a": deep })), /nested too deep/);
  });

  it("refuses what can be written by itself, but not in its place", () => {
    const nested = (inner: Json, levels: number) => {
      let value = inner;
      for (let level = 0; level < levels; level += 1) value = [value];
      return value;
    };
    const value = nested(1, 500);
    const place = nested("${{ inputs.a }}", 500);
    const fill = (a: Json) => fillValue(place, filling({ "inputs.a": a }));
    assert.equal(JSON.stringify(fill(value)).length, 2_001);
    let deepest = value;
    const isWritable = (deep: Json) => {
      try {
        return writeJson(deep) !== "";
      } catch {
        return false;
      }
    };
    for (let deeper = value; isWritable(deeper); deeper = nested(deeper, 100)) deepest = deeper;
    assert.throws(() => fill(deepest), /a value is nested too deep, or too large/);
  });

  it("refuses numbers that are too large, also by themselves", () => {
    const values = filling({ "inputs.a": Number.POSITIVE_INFINITY });
    for (const text of ["${{ inputs.a }}", "a ${{ inputs.a }}"])
      assert.throws(() => fillValue([text], values), /a number is beyond 1.8e308/);
  });

  it("refuses values that are too large together, wherever they stand", () => {
    const a = "x".repeat(9 * 1024 * 1024);
    const values = filling({ "inputs.a": a, "inputs.list": [a] });
    const one = "${{ inputs.a }}";
    assert.equal(String(fillValue(`${one}${one}${one}`, values)).length, 3 * a.length);
    for (const value of [
      one.repeat(4),
      [one, one, one, one],
      { [one]: one, [`b${one}`]: one },
      Array(4).fill("${{ inputs.list }}"),
    ])
      assert.throws(() => fillValue(value, values), /larger than 32 MB together/);
  });

  it("finds all variables and expressions of a pipeline, also in what is around its steps", () => {
    const written = writtenIn(
      pipelineOf({
        inputs: { a: "${{ default(env.A, 'x') }}" },
        resources: http,
        steps: [
          {
            id: "s",
            each: ["${{ inputs.a }}"],
            if: "inputs.a == 'x'",
            use: "shop",
            get: "/${{ env.B }}",
            mask: ["json.a", "headers['x-key']"],
            expect: { that: "this.status == 200" },
          },
        ],
        outputs: { o: "${{ steps.s }}" },
      }),
    );
    assert.deepEqual([...written.variables], ["B"]);
    assert.deepEqual(
      [...written.expressions].map((source) => source.trim()).toSorted(),
      [
        "default(env.A, 'x')",
        "inputs.a",
        "inputs.a == 'x'",
        "steps.s",
        "this.headers['x-key']",
        "this.json.a",
        "this.status == 200",
      ].toSorted(),
    );
  });
});
