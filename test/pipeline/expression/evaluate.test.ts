import assert from "node:assert/strict";
import { type Contexts, evaluate, explain, fill } from "../../../src/pipeline/expression/evaluate.ts";
import { parseText } from "../../../src/pipeline/expression/parseExpression.ts";
import {
  ExpressionFault,
  type Json,
  type JsonMap,
  parseJson,
  writeJson,
} from "../../../src/pipeline/expression/value.ts";
import { splitText } from "../../../src/pipeline/file/textPieces.ts";
import { contexts, everything, inputs, parsed, tools } from "./given.ts";

function value(text: string, over: Partial<Contexts> = {}): Json {
  return evaluate(parsed(text), { ...contexts, ...over }, tools);
}

function fault(text: string, over: Partial<Contexts> = {}): ExpressionFault {
  try {
    value(text, over);
  } catch (error) {
    assert(error instanceof ExpressionFault, `${text}: ${error}`);
    return error;
  }
  assert.fail(`${text} has a value`);
}

function holds(...texts: string[]): void {
  for (const text of texts) assert.equal(value(text), true, text);
}

function fails(says: RegExp, ...texts: string[]): void {
  for (const text of texts) {
    const { message, isMissing } = fault(text);
    assert.match(message, says, text);
    assert.equal(isMissing, false, text);
  }
}

function isMissing(says: RegExp, ...texts: string[]): void {
  for (const text of texts) {
    const error = fault(text);
    assert.match(error.message, says, text);
    assert.equal(error.isMissing, true, text);
    assert.equal(value(`exists(${text})`), false, text);
    assert.equal(value(`default(${text}, 'other')`), "other", text);
  }
}

describe("the value of an expression", () => {
  it("is a literal's", () => {
    assert.deepEqual(
      ["true", "false", "null", "1", "-1.5", "+2", ".5", "0xff", "1e3", "''", "'it''s '''", "'a\nb'"].map(
        (text) => value(text),
      ),
      [true, false, null, 1, -1.5, 2, 0.5, 255, 1000, "", "it's '", "a\nb"],
    );
    assert.equal(value("'''a''''b'''"), "'a''b'");
  });

  it("is a whole number of any size", () => {
    assert.equal(value("9007199254740993"), 9007199254740993n);
    assert.equal(value("-9007199254740993"), -9007199254740993n);
    assert.equal(value("9007199254740991"), 9007199254740991);
    holds(
      "9007199254740993 == inputs.big",
      "9007199254740992 != inputs.big",
      "inputs.big > 9007199254740992",
    );
    holds("inputs.big > 1.5", "2 <= inputs.big", "!(inputs.big < 9007199254740993)", "1e3 == 1000");
    holds("fromJSON('9007199254740993') == inputs.big", "number('9007199254740993') == inputs.big");
    assert.equal(
      value("inputs.one == 1 && contains(inputs.list, inputs.one)", { inputs: { ...inputs, one: 1n } }),
      true,
    );
    assert.equal(value("number(' 9007199254740993\n')"), 9007199254740993n);
    assert.equal(value("toJSON(inputs.big)"), "9007199254740993");
    assert.equal(value("text(inputs.big)"), "9007199254740993");
  });

  it("is that of a path, of own members only", () => {
    assert.equal(value("inputs.base-url"), "http://h");
    assert.equal(value("inputs['base-url']"), "http://h");
    assert.equal(value("inputs.list[3].tags[length('x')]"), "u");
    assert.equal(value("inputs[format('{0}-{1}', 'base', 'url')]"), "http://h");
  });

  it("isn't there, since what a step has put out isn't JSON, or the step was skipped", () => {
    const why = (text: string, over: Partial<Contexts>) => fault(text, over).message;
    const steps = {
      build: { outcome: "succeeded", stdout: "building\n{}" },
      page: { text: "<p>", all: { text: "" } },
    };
    assert.equal(
      why("steps.build.json.id", { steps }),
      "steps.build.json isn't there; steps.build.stdout isn't JSON",
    );
    assert.equal(why("this.json", { this: steps.page }), "this.json isn't there; this.text isn't JSON");
    for (const [text, is] of [
      ["<html>", "is an HTML page"],
      ['<?xml version="1.0"?>\n<!-- > -->\n<!DOCTYPE html><html>', "is an HTML page"],
      ["<feed><html></html></feed>", "isn't JSON"],
      [`${"<!---->".repeat(2000)}<feed>`, "isn't JSON"],
    ] as const)
      assert.equal(why("this.json", { this: { text } }), `this.json isn't there; this.text ${is}`);
    const silent = { this: { stdout: "" } };
    assert.equal(why("this.json.id", silent), "this.json isn't there; this.stdout is empty");
    const skipped = { steps: { order: { outcome: "skipped", time: 0, attempts: 0 } } };
    assert.equal(why("steps.order.json", skipped), "steps.order.json isn't there; steps.order was skipped");
    // What a reply itself holds is no result.
    assert.match(why("steps.page.all.json", { steps }), /steps\.page\.all has text$/);
    assert.match(why("steps.build.jsno", { steps }), /steps\.build has outcome, stdout$/);
  });

  it("isn't there, and says what is", () => {
    isMissing(
      /^steps\.order\.json\.idd isn't there; steps\.order\.json has id, total, error$/,
      "steps.order.json.idd",
    );
    isMissing(
      /^steps\.other isn't there; that step hasn't run$/,
      "steps.other",
      "steps.other.json.id",
      "steps.other.*",
    );
    isMissing(/^inputs\.none\.a isn't there; inputs\.none is null$/, "inputs.none.a");
    isMissing(/^inputs\.text\.a isn't there; inputs\.text is a text$/, "inputs.text.a");
    isMissing(/^inputs\.empty\.a isn't there; inputs\.empty is empty$/, "inputs.empty.a");
    isMissing(/^inputs\.list\[5\] isn't there; inputs\.list has 5 items, counted from 0$/, "inputs.list[5]");
    isMissing(/has 5 items/, "inputs.list[-1]", "inputs.list[0.5]", "inputs.list['0']", "inputs.list.length");
    isMissing(/has 5 items/, "inputs.list[9007199254740993]", "inputs.list[null]");
    isMissing(/^inputs\[inputs\.text\], with "Straße 😀", isn't there/, "inputs[inputs.text]");
    isMissing(/inputs has two, base-url/, "inputs.Two", "inputs[1]", "inputs.BASE-URL");
    isMissing(/^env\.HOME isn't there; the environment has no such variable$/, "env.HOME", "env['HOME']");
    isMissing(/^each isn't there$/, "each.value");
    isMissing(/^this isn't there$/, "this.json");
  });

  it("is never what every object has", () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype).concat("prototype", "length", "at")) {
      isMissing(/isn't there/, `inputs.map.${name}`, `inputs['${name}']`, `inputs.list.${name}`);
      isMissing(/isn't there/, `inputs.text['${name}']`, `steps.${name}.a`, `env.${name}`);
    }
    const own = parseJson('{"__proto__": {"a": 1}, "constructor": 2}')?.value ?? null;
    const over = { inputs: { own } };
    assert.equal(value("inputs.own.__proto__.a", over), 1);
    assert.equal(value("inputs.own.constructor", over), 2);
    assert.equal(value("toJSON(inputs.own)", over), '{"__proto__":{"a":1},"constructor":2}');
    assert.equal(value("fromJSON('{\"__proto__\":{\"a\":1}}') == fromJSON('{}')"), false);
    assert.equal(fault("inputs.own.a", over).isMissing, true);
  });

  it("leaves out long names of what is there, and the names behind the tenth", () => {
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
    const many = Object.fromEntries(["x".repeat(61), ...names].map((name) => [name, 1]));
    assert.match(
      fault("inputs.a", { inputs: many }).message,
      /inputs has n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, …$/,
    );
  });

  it("is of all items with `.*`, without those that lack the member", () => {
    assert.deepEqual(value("inputs.list.*.id"), [1, 2]);
    assert.deepEqual(value("inputs.list[*].name"), ["x"]);
    assert.deepEqual(value("inputs.list.*"), inputs["list"]);
    assert.deepEqual(value("inputs.map.*"), [1, [1, 2]]);
    assert.deepEqual(value("inputs.map.*[0]"), [1]);
    assert.deepEqual(value("inputs.list.*.tags.*"), ["t", "u"]);
    assert.deepEqual(value("inputs.list.*.tags[1]"), ["u"]);
    assert.equal(value("(inputs.list.*.id)[1]"), 2);
    assert.deepEqual(value("inputs.list.*.nothing.*.more"), []);
    isMissing(/inputs\.two is a number; `\.\*` takes/, "inputs.two.*");
  });

  it("is equal when type and content are", () => {
    holds("inputs.map == inputs.same", "1 == 1.0", "null == null", "'a' == 'a'", "-0 == 0");
    holds("'1' != 1", "null != 0", "null != ''", "true != 1", "false != ''", "'a' != 'A'", "'true' != true");
    holds("inputs.map != inputs.empty", "inputs.list != inputs.map", "inputs.map.a != fromJSON('[2, 1]')");
    holds(
      "fromJSON('[1]') != fromJSON('[1, 2]')",
      'fromJSON(\'{"a": 1}\') != fromJSON(\'{"a": 1, "b": 2}\')',
    );
    holds("fromJSON('{\"a\": null}') != fromJSON('{\"b\": null}')", "fromJSON('[]') != fromJSON('{}')");
  });

  it("is an order of two numbers or two texts", () => {
    holds(
      "1 < 2",
      "2 <= 2",
      "3 > 2",
      "3 >= 3",
      "'a' < 'b'",
      "'a' <= 'a'",
      "'B' < 'a'",
      "'b' > 'a'",
      "'10' < '9'",
    );
    holds("!(1 > 2)", "!(2 >= 3)", "!(2 < 2)", "!('b' <= 'a')");
    fails(/^'1' is a text, and 2 a number; `<` compares two numbers or two texts$/, "'1' < 2");
    fails(
      /compares two numbers/,
      "null < 1",
      "true > false",
      "inputs.list >= inputs.list",
      "inputs.map <= 1",
    );
  });

  it("is true or false of nothing but true and false", () => {
    holds(
      "true && !false",
      "false || true",
      "!(true && false)",
      "!(false || false)",
      "true || inputs.nothing",
    );
    holds("!(false && inputs.nothing)", "true || 1", "!(false && 1)");
    fails(/^1 is a number; `&&` takes true and false only$/, "true && 1", "1 && false");
    fails(/`\|\|` takes/, "false || 'a'", "null || true", "inputs.list || true");
    fails(/^inputs\.none is null; `!` takes/, "!inputs.none");
    fails(/`!` takes/, "!''", "!0", "!inputs.map");
  });

  it("looks first with `exists` and `default`, and passes over nothing but what isn't there", () => {
    holds("exists(inputs.none)", "exists(steps.order.json.error)", "exists('')", "!exists(inputs.x)");
    assert.equal(value("default(inputs.none, 1)"), null);
    assert.equal(value("default(env.SHOP, 'x')"), "http://shop");
    assert.equal(value("default(inputs.a, default(inputs.b, 3))"), 3);
    holds("default(inputs.two, inputs.nothing) == 2");
    fails(/`!` takes/, "exists(!1)", "default(!1, 2)");
    fails(/isn't JSON/, "exists(fromJSON('x'))");
    assert.equal(fault("default(inputs.a, inputs.b)").isMissing, true);
    assert.equal(value("exists(number(inputs.a))"), false);
  });
});

describe("a function", () => {
  it("looks in texts and lists", () => {
    holds(
      "contains('abc', 'b')",
      "!contains('abc', 'B')",
      "contains(inputs.list, null)",
      "contains(inputs.list, 'a')",
    );
    holds("!contains(inputs.list, 'A')", "!contains(inputs.list, '1')", "contains('a', '')");
    holds(
      "contains(inputs.list, fromJSON('{\"id\": 1}'))",
      "!contains(inputs.list, fromJSON('{\"id\": 3}'))",
    );
    holds('contains(inputs.list, fromJSON(\'{"id": 1, "tags": ["t", "u"]}\'))');
    holds('!contains(inputs.list, fromJSON(\'{"tags": ["t"]}\'))', "contains(inputs.list, inputs.empty)");
    holds('!contains(fromJSON(\'[[{"a": 1, "b": 2}]]\'), fromJSON(\'[{"a": 1}]\'))');
    holds("contains(fromJSON('[[1, 2]]'), inputs.map.a)", "!contains(fromJSON('[[1, 2, 3]]'), inputs.map.a)");
    fails(/^inputs\.map is a map; `contains` takes a text or a list$/, "contains(inputs.map, 'a')");
    fails(/^1 is a number; `contains` takes a text$/, "contains('a1', 1)");
    holds(
      "startsWith('abc', 'ab')",
      "!startsWith('abc', 'AB')",
      "endsWith('abc', 'bc')",
      "!endsWith('abc', 'ab')",
    );
    fails(/takes a text/, "startsWith(1, '1')", "endsWith('1', 1)");
  });

  it("makes texts", () => {
    assert.equal(value("format('{{{0}}} {1}{0} {2}', 1, 'x', inputs.map)"), '{1} x1 {"b":1,"a":[1,2]}');
    assert.equal(value("format('$&{0}$1', '$&')"), "$&$&$1");
    fails(/there is no value for `\{1\}`/, "format('{1}', 1)", "format('{1}', 1) == 'a'");
    fails(/a `\{` by itself is written `\{\{`/, "format('{', 1)", "format('{a}', 1)", "format('{-1}', 1)");
    fails(/a `\}` by itself/, "format('}')");
    assert.equal(value("join(inputs.list)"), '1,a,null,{"id":1,"name":"x","tags":["t","u"]},{"id":2}');
    assert.equal(value("join(inputs.list.*.id, ' and ')"), "1 and 2");
    fails(/`join` takes/, "join('a')", "join(inputs.list, 1)");
    assert.equal(value("toJSON(inputs.map)"), '{"b":1,"a":[1,2]}');
    assert.equal(value("toJSON('a\"')"), '"a\\""');
    assert.deepEqual(value("fromJSON('{\"a\": [1, null]}').a"), [1, null]);
    assert.deepEqual(value("fromJSON('\ufeff[1]')"), [1]);
    fails(/^fromJSON\('\{'\): the text isn't JSON$/, "fromJSON('{')");
    assert.equal(value("text(1.50)"), "1.5");
    assert.equal(value("text(null)"), "null");
    assert.equal(value("lower('ÄB')"), "äb");
    assert.equal(value("upper('äß')"), "ÄSS");
    assert.equal(value("base64('Straße 😀')"), Buffer.from("Straße 😀").toString("base64"));
    const long = "ä".repeat(50_000);
    assert.equal(value("base64(inputs.a)", { inputs: { a: long } }), Buffer.from(long).toString("base64"));
    assert.equal(value("sha256('a')"), "sha256 of a");
    assert.equal(value("url-encode('a/b ä?&=\ud800')"), "a%2Fb%20%C3%A4%3F%26%3D%EF%BF%BD");
    assert.equal(value("now()"), "2026-11-25T13:00:00.000Z");
    assert.equal(value("uuid()"), "00000000-0000-4000-8000-000000000000");
    fails(
      /takes a text$/,
      "lower(1)",
      "upper(null)",
      "base64(1)",
      "sha256(1)",
      "url-encode(1)",
      "fromJSON(1)",
    );
  });

  it("counts characters, items and members", () => {
    assert.deepEqual(
      ["'Straße 😀'", "''", "inputs.list", "inputs.map", "inputs.empty"].map((text) =>
        value(`length(${text})`),
      ),
      [8, 0, 5, 2, 0],
    );
    fails(/`length` takes a text, a list or a map/, "length(1)", "length(null)", "length(true)");
  });

  it("reads numbers", () => {
    assert.deepEqual(
      ["3", " 3\n", "-1.5", "1e3", ".5"].map((text) => value(`number('${text}')`)),
      [3, 3, -1.5, 1000, 0.5],
    );
    for (const text of ["", " ", "x", "1 2", "NaN", "Infinity", "1e999", "1,5"])
      fails(/isn't a number/, `number('${text}')`);
    fails(/takes a text/, "number(1)", "number(null)");
  });

  it("finds a group, or else the whole", () => {
    assert.equal(value("match('id: 42 a', '/id: (\\d+)/')"), "42");
    assert.equal(value("match('id: 42 a', '/ID: \\d+/i')"), "id: 42");
    assert.equal(value("match('a\nb 1', '/^b (.)$/')"), "1");
    assert.equal(value("match('b', '/(a)|b/')"), "b");
    assert.equal(value("match('ab', '/a()/')"), "");
    isMissing(/^match\('a', '\/b\/'\): nothing matches$/, "match('a', '/b/')");
    fails(/takes a text/, "match(1, '/b/')");
  });
});

describe("what an evaluation makes", () => {
  it("is bounded", () => {
    const long = "x".repeat(4_000_000);
    const over = {
      inputs: {
        long,
        list: Array.from({ length: 100 }, () => "y".repeat(200_000)),
        "long-list": Array.from({ length: 200 }, () => long),
        json: JSON.stringify([long]),
        items: Array.from({ length: 2_000_000 }, () => ({ a: 1 })),
      },
    };
    for (const text of [
      "format('{0}{0}{0}', inputs.long)",
      "join(inputs.list)",
      "toJSON(inputs.list)",
      "base64(base64(inputs.long))",
      "format('{0}', upper(inputs.long)) == format('{0}', inputs.long)",
      "fromJSON(inputs.json) == fromJSON(inputs.json) && fromJSON(inputs.json) == null",
      `format('${"{0}".repeat(200)}', inputs.long)`,
      "join(inputs.long-list)",
      "length(inputs.items.*.a) > 0 && length(inputs.items.*.b) == 0 && length(inputs.items.*.b) == 0",
      `length(inputs.items.*) > 0${" && length(inputs.items.*) > 0".repeat(5)}`,
    ]) {
      assert.match(fault(text, over).message, /more than 10 MB/, text);
      assert.equal(fault(`exists(${text})`, over).isMissing, false);
    }
    assert.equal(value("length(format('{0}{0}', inputs.long)) == 8000000", over), true);
    const texts = parseText("$\u007b{ inputs.long }}".repeat(3), everything);
    assert(texts.kind === "valid");
    assert.throws(() => fill(texts.pieces, { ...contexts, ...over }, tools), ExpressionFault);
  });

  it("is a fault where values are nested too deep", () => {
    const deep = parseJson(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)?.value ?? null;
    const over = { inputs: { deep, same: parseJson(writeJson([[]]))?.value ?? null } };
    for (const text of [
      "inputs.deep == inputs.deep",
      "toJSON(inputs.deep)",
      "contains(inputs.deep, inputs.deep)",
    ]) {
      assert.match(fault(text, over).message, /nested too deep/);
    }
    assert.equal(value("inputs.deep == inputs.same", over), false);
    assert.match(
      explain(parsed("inputs.deep == 1"), { ...contexts, ...over }, tools) ?? "",
      /can't be shown: a value is nested too deep/,
    );
  });

  it("is a fault where a number is too large for a double, and keeps one that is written in digits", () => {
    const over = { inputs: parseJson('{"n":1e999,"less":-1E400000,"whole":1e15}')?.value as JsonMap };
    for (const text of [
      "inputs.n == 1",
      "inputs.n != inputs.n",
      "1 < inputs.less",
      "toJSON(inputs)",
      "format('{0}', inputs.n)",
    ])
      assert.match(fault(text, over).message, /a number is beyond 1.8e308/, text);
    assert.equal(value("inputs.n == null", over), false);
    const digits = "9".repeat(10_000);
    assert.equal(value(`toJSON(fromJSON('[${digits}]'))`, {}) === `[${digits}]`, true);
    assert.match(fault(`toJSON(fromJSON('[${digits}9]'))`, {}).message, /a number is beyond/);
  });
});

describe("a text that is filled in", () => {
  function filled(text: string): Json {
    const result = parseText(text, everything);
    assert(result.kind === "valid", text);
    return fill(result.pieces, contexts, tools);
  }

  it("keeps an expression's type when it is alone, and is text otherwise", () => {
    assert.equal(filled(`\${{ inputs.two }}`), 2);
    assert.deepEqual(filled(`\${{ inputs.map }}`), inputs["map"]);
    assert.equal(filled(`\${{ inputs.none }}`), null);
    assert.equal(filled(`\${{ inputs.big }}`), 9007199254740993n);
    assert.equal(filled(`\${{ env.SHOP }}`), "http://shop");
    assert.equal(filled(` \${{ inputs.two }}`), " 2");
    assert.equal(
      filled(`\${{ env.SHOP }}/\${{ inputs.yes }}/\${{ inputs.none }}/\${{ inputs.map }}/\${{ inputs.big }}`),
      'http://shop/true/null/{"b":1,"a":[1,2]}/9007199254740993',
    );
    assert.equal(filled(`a $\${{ b }}`), `a \${{ b }}`);
    assert.equal(filled(""), "");
  });

  it("needs no parser for variables", () => {
    const split = splitText(`\${{ env.SHOP }}/health`);
    assert(split.kind === "valid");
    const pieces = split.pieces.filter((piece) => piece.kind !== "source");
    assert.equal(fill(pieces, contexts, tools), "http://shop/health");
    const unset = splitText(`\${{ env.OTHER }}`);
    assert(unset.kind === "valid");
    assert.throws(
      () =>
        fill(
          unset.pieces.filter((piece) => piece.kind !== "source"),
          contexts,
          tools,
        ),
      /env\.OTHER isn't there/,
    );
  });
});

describe("JSON", () => {
  it("keeps whole numbers of any size, and own members of any name", () => {
    for (const text of [
      '{"a":[9007199254740993,-12345678901234567890,1.5,true,null,"x"]}',
      '{"__proto__":1}',
      '"1234567890123456"',
    ]) {
      const read = parseJson(text);
      assert(read !== undefined);
      assert.equal(writeJson(read.value), text);
    }
    assert.deepEqual(parseJson("12345678901234567.5"), { value: Number("12345678901234567.5") });
    assert.equal(parseJson("{"), undefined);
  });
});
