import assert from "node:assert/strict";
import { type Node, references } from "../../../src/pipeline/expression/expression.ts";
import { type ContextName, contexts, functions } from "../../../src/pipeline/expression/names.ts";
import { parseExpression, parseText } from "../../../src/pipeline/expression/parseExpression.ts";
import { suggested } from "../../../src/pipeline/mistakes/problem.ts";
import { everything, parsed } from "./given.ts";

function problem(text: string, known: readonly ContextName[] = everything) {
  const result = parseExpression(text, known);
  assert(result.kind === "invalid", `${text} is valid`);
  return { problem: result.problem, at: result.at, wrong: text.slice(result.at, result.at + result.length) };
}

describe("an invalid expression", () => {
  for (const [text, wrong, says] of [
    ["", "", /is empty/],
    [" \n ", " \n ", /is empty/],
    ["inputs.a = 'x'", "=", /write `==`/],
    ["inputs.a === 1", "=", /write `==`/],
    ["inputs.a & true", "&", /write `&&` or `\|\|`/],
    ["inputs.a | true", "|", /write `&&` or `\|\|`/],
    ["inputs.a and true", "and", /write `&&`/],
    ["not inputs.a", "not", /write `!`/],
    ['inputs.a == "x"', '"x"', /single quotes/],
    ["inputs.a == 'it''s", "'it''s", /no closing `'`/],
    ["inputs.a - 1", "-", /no arithmetic/],
    ["inputs.a -1", "-1", /no arithmetic/],
    ["inputs.a + 1", "+", /no arithmetic/],
    ["inputs.a * 2", "*", /no arithmetic/],
    ["inputs.größe", "größe", /isn't a name or a number.*\['…'\]/],
    ["inputs.a.0", "0", /`\[0\]`/],
    ["inputs.a.0.b", "0.b", /isn't a name or a number/],
    ["NaN", "NaN", /JSON has no number/],
    ["1e999 == 1", "1e999", /JSON has no number/],
    ["1 == -Infinity", "-Infinity", /JSON has no number/],
    ["inputs.a ==", "", /a value.* is missing/],
    ["(inputs.a", "", /a `\)`.* is missing/],
    ["inputs.a[1", "", /is missing/],
    ["inputs.", "", /is missing/],
    ["inputs.a =~ 'b'", "=~", /write `match\(text, '/],
    ["contains(['a'], inputs.a)", "[", /a list is written `fromJSON\(/],
    ["inputs.a)", ")", /can't stand here/],
    ["inputs.a b", "b", /there is no `b`/],
    ["inputs.a inputs.b", "inputs", /can't stand here/],
    ["contains(inputs.a, 'x',)", ",", /nothing follows/],
    ["length(inputs.a", "", /is missing/],
    ["'a'.b", ".b", /can't stand here/],
    ["inputs.status == paid", "paid", /a text is written `'paid'`/],
    ["step.a", "step", /did you mean `steps`\?/],
    ["Inputs.a", "Inputs", /did you mean `inputs`\?/],
    ["secrets.A", "secrets", /did you mean `env`\?/],
    ["x.A", "x", /a path begins with env, inputs/],
    ["lenght('a')", "lenght", /there is no function `lenght`; did you mean `length`\?/],
    ["toJson(1)", "toJson", /did you mean `toJSON`\?/],
    ["success()", "success", /stands in `finally`/],
    ["run()", "run", /the functions are contains, /],
    ["case(true, 1, 2)", "case", /there is no function/],
    ["contains('a')", "contains", /takes 2 arguments: `contains\(whole, part\)`/],
    ["now(1)", "now", /takes no arguments/],
    ["length()", "length", /takes 1 argument:/],
    ["join(inputs.a, ',', 1)", "join", /takes 1 to 2 arguments/],
    ["default(inputs.a)", "default", /takes 2 arguments/],
    ["toJSON(env)", "env", /write `env\.NAME`/],
    ["env.*", "env", /write `env\.NAME`/],
    ["env[*]", "env", /write `env\.NAME`/],
    ["match(inputs.a, inputs.b)", "inputs.b", /between slashes/],
    ["match(inputs.a, 'b')", "'b'", /between slashes/],
    ["match(inputs.a, '/(/')", "'/(/'", /[uU]nterminated group/],
    ["match(inputs.a, '/b/g')", "'/b/g'", /flags i and u/],
    ["'a\nb''c' == inputz.a", "inputz", /did you mean/],
    ["'a\n\nb' == ('c\n' == lenght('d'))", "lenght", /did you mean/],
    ["\r\n\t 'a\r\nb' ==\n  inputz.a", "inputz", /did you mean/],
    ["😀", "😀", /can't stand here/],
    ["'😀' == inputz.a", "inputz", /did you mean/],
  ] as const) {
    it(`has its place: ${JSON.stringify(text)}`, () => {
      const found = problem(text);
      assert.match(found.problem, says);
      assert.equal(found.wrong, wrong);
      if (wrong === "" && text !== "") assert.equal(found.at, text.length);
    });
  }

  it("is one that calls what every object has", () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      assert.match(problem(`${name}('a')`).problem, /there is no function|isn't a name|can't stand here/);
      assert.match(problem(`${name}.a`).problem, /there is no `|can't stand here/);
    }
  });

  it("uses what isn't there in its place", () => {
    assert.match(problem("this.json", ["env"]).problem, /only in `expect\.that`/);
    assert.match(problem("each.value", ["env", "inputs"]).problem, /only in a step with `each`/);
    assert.match(
      problem("inputs.a == 1", ["env", "run"]).problem,
      /`inputs` can't be used here; env, run can/,
    );
  });

  it("is nested too deep or too long", () => {
    parsed(`${"(".repeat(40)}1${")".repeat(40)}`);
    assert.match(problem(`${"(".repeat(60)}1${")".repeat(60)}`).problem, /more than 50 deep/);
    assert.match(problem(`${"!".repeat(60)}true`).problem, /more than 50 deep/);
    assert.match(problem(`1${" == 1".repeat(4000)}`).problem, /more than 50 deep/);
    assert.match(problem(`inputs${".a".repeat(60)}`).problem, /more than 50 deep/);
    parsed(`true${" && true".repeat(2000)}`);
    assert.match(problem(" ".repeat(21_001)).problem, /at most 21000 characters, and this one 21001/);
    problem("(".repeat(21_000));
  });

  it("has a suggestion that an editor can take", () => {
    assert.deepEqual(suggested(problem("lenght('a')").problem), { written: "lenght", meant: "length" });
    assert.deepEqual(suggested(problem("step.a").problem), { written: "step", meant: "steps" });
  });
});

describe("the parts of an expression", () => {
  it("know their places, behind a line break within a text too", () => {
    const text = "contains( 'a\nb''', (inputs.base-url) )\n && !steps['x'][ 0 ].*.y == (1 < 2)";
    const { root } = parsed(text);
    assert(root.kind === "logical");
    const [call, comparison] = root.operands;
    const source = (node: { at: number; length: number } | undefined) =>
      text.slice(node?.at, (node?.at ?? 0) + (node?.length ?? 0));
    assert.equal(source(root), text);
    assert.equal(source(call), "contains( 'a\nb''', (inputs.base-url) )");
    assert(call?.kind === "call");
    assert.deepEqual(call.args.map(source), ["'a\nb'''", "inputs.base-url"]);
    assert(comparison?.kind === "compare");
    assert.equal(source(comparison.left), "!steps['x'][ 0 ].*.y");
    assert.equal(source(comparison.right), "1 < 2");
    assert.equal(source(comparison), "!steps['x'][ 0 ].*.y == (1 < 2)");
  });

  it("bind as they do in GitHub's expressions", () => {
    const shape = (node: Node): string => {
      switch (node.kind) {
        case "compare":
          return `(${shape(node.left)} ${node.operator} ${shape(node.right)})`;
        case "logical":
          return `(${node.operands.map(shape).join(` ${node.operator} `)})`;
        case "not":
          return `!${shape(node.operand)}`;
        default:
          return node.kind === "literal" ? String(node.value) : node.kind;
      }
    };
    for (const [text, bound] of [
      ["1 || 2 && 3 == 4 < !5", "(1 || (2 && (3 == (4 < !5))))"],
      ["1 && 2 || 3 && 4", "((1 && 2) || (3 && 4))"],
      ["(1 || 2) && 3", "((1 || 2) && 3)"],
      ["1 < 2 != 3 == 4", "(((1 < 2) != 3) == 4)"],
      ["1 || 2 || 3", "(1 || 2 || 3)"],
      ["!!1 == 2", "(!!1 == 2)"],
    ] as const) {
      assert.equal(shape(parsed(text).root), bound);
    }
  });

  it("of a text are moved by where it begins", () => {
    const text = `a \${{ env.B }} \${{ lenght('}}') }}`;
    const result = parseText(text, everything);
    assert(result.kind === "invalid");
    assert.equal(text.slice(result.at, result.at + result.length), "lenght");
    const valid = parseText(`\${{ env.B }}-\${{ inputs.a }}!`, everything);
    assert(valid.kind === "valid");
    assert.deepEqual(
      valid.pieces.map(({ kind }) => kind),
      ["variable", "words", "expression", "words"],
    );
  });
});

describe("the references of an expression", () => {
  function used(text: string) {
    return references(parsed(text)).map(({ context, path, goesOn, ...place }) => {
      assert.equal(text.slice(place.at, place.at + place.length), context);
      const names = path.map(({ name, at, length }) => {
        assert.equal(text.slice(at, at + length).replaceAll("''", "'"), String(name));
        return name;
      });
      return [context, ...names, ...(goesOn ? ["…"] : [])];
    });
  }

  it("are all paths, with each name's place", () => {
    assert.deepEqual(used("steps.order.json.id"), [["steps", "order", "json", "id"]]);
    assert.deepEqual(used("steps [ 'order' ]\n.json"), [["steps", "order", "json"]]);
    assert.deepEqual(used("steps['it''s'].json"), [["steps", "it's", "json"]]);
    assert.deepEqual(used("inputs.base-url == env.A"), [
      ["inputs", "base-url"],
      ["env", "A"],
    ]);
    assert.deepEqual(used("this.rows[0].true"), [["this", "rows", 0, "true"]]);
    assert.deepEqual(used("(steps.a).json"), [["steps", "a", "json"]]);
    assert.deepEqual(used("!exists(each.value.a) || run.id == 'x'"), [
      ["each", "value", "a"],
      ["run", "id"],
    ]);
    assert.deepEqual(used("toJSON(steps)"), [["steps"]]);
  });

  it("end where only a run knows more", () => {
    assert.deepEqual(used("steps.a.json.*.id"), [["steps", "a", "json", "…"]]);
    assert.deepEqual(used("steps[inputs.which].json"), [
      ["steps", "…"],
      ["inputs", "which"],
    ]);
    assert.deepEqual(used("inputs.a[length(inputs.b)].c"), [
      ["inputs", "a", "…"],
      ["inputs", "b"],
    ]);
    assert.deepEqual(used("fromJSON(inputs.a).steps.b"), [["inputs", "a"]]);
    assert.deepEqual(used("(inputs.a.*.b)[0]"), [["inputs", "a", "…"]]);
  });
});

describe("the documentation of the functions and contexts", () => {
  it("is a sentence each", () => {
    for (const { meaning } of [...Object.values(functions), ...Object.values(contexts)]) {
      assert.match(meaning, /^[A-Z`].*\.$/);
    }
  });
});
