import assert from "node:assert/strict";
import { explain, fill } from "../../../src/pipeline/expression/evaluate.ts";
import { references } from "../../../src/pipeline/expression/expression.ts";
import { parseText } from "../../../src/pipeline/expression/parseExpression.ts";
import { ExpressionFault } from "../../../src/pipeline/expression/value.ts";
import { hasExpression, splitText } from "../../../src/pipeline/file/textPieces.ts";
import { holdsNear } from "../../near.ts";
import { contexts, everything, tools } from "../../pipeline/expression/given.ts";

const open = "$\u007b{";

describe("expressions from outside", () => {
  it("a text has a value or a reason, and each problem a place within it", () =>
    holdsNear(
      {
        like: [
          `${open} env.SHOP }}/x $${open} ${open} inputs.base-url }}`,
          `${open} contains(inputs.list, fromJSON('{"id": 1}')) && !(length(inputs.text) >= 2.5) }}`,
          `${open} steps.order.json.*.id[0] == steps['order'] || default(each.value, '}}') }}`,
          `${open} format('{0} {{}}', join(inputs.list, '; '), toJSON(inputs.map)) }}`,
          `${open} match(inputs.text, '/a(b)?/i') != url-encode(upper(base64(text(inputs.big)))) }}`,
          `${open} 'it''s\n' < lower(sha256(now())) && exists(inputs.none.a) && number('1e3') <= 0x1F }}`,
        ],
        words: ["&&", "||", "==", ".*", "[*]", "['", "']", "env.", "this.", "(", ")", open, "'''", "\u00a0"],
        longest: 4096,
      },
      checkText,
    ));
});

function checkText(text: string): void {
  const parsed = parseText(text, everything);
  const isWithin = ({ at, length }: { readonly at: number; readonly length: number }) =>
    at >= 0 && length >= 0 && at + length <= text.length;
  if (parsed.kind === "invalid") {
    assert(parsed.problem !== "" && isWithin(parsed), "a problem is in the text");
    return;
  }
  const isPlain = parsed.pieces.every(({ kind }) => kind === "words");
  assert(isPlain !== hasExpression(text) || text === "", "a text with expressions is known by its look");
  assert.equal(splitText(text).kind, "valid");
  for (const piece of parsed.pieces) {
    if (piece.kind !== "expression") continue;
    for (const { at, length, context, path } of references(piece.expression)) {
      assert.equal(text.slice(piece.at + at, piece.at + at + length), context);
      for (const name of path) {
        const written = text.slice(piece.at + name.at, piece.at + name.at + name.length);
        assert.equal(written.replaceAll("''", "'"), String(name.name));
      }
    }
    orFault(() => explain(piece.expression, contexts, tools));
  }
  orFault(() => fill(parsed.pieces, contexts, tools));
}

function orFault(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    assert(error instanceof ExpressionFault && error.message !== "", "what has no value says why");
  }
}
