import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { hasExpression, splitText } from "../../../src/pipeline/file/textPieces.ts";

/** Words as they are, expressions in a list. */
function pieces(text: string) {
  const split = splitText(text);
  assert(split.kind === "valid", text);
  return split.pieces.map((piece) => {
    switch (piece.kind) {
      case "words":
        return piece.words;
      case "variable":
        return [`env:${piece.name}`];
      default:
        assert.equal(text.slice(piece.at, piece.at + piece.source.length), piece.source);
        return [piece.source];
    }
  });
}

describe("a text with expressions", () => {
  it("is words, variables and the sources of other expressions", () => {
    assert.deepEqual(pieces(""), []);
    assert.deepEqual(pieces("a"), ["a"]);
    assert.deepEqual(pieces(`a\${{ env.A_1 }}b\${{inputs.x}}`), ["a", ["env:A_1"], "b", ["inputs.x"]]);
    assert.deepEqual(pieces(`\${{\n env.A\t}}`), [["env:A"]]);
    assert.deepEqual(pieces(`\${{ env.a-b }}\${{ env['A'] }}`), [[" env.a-b "], [" env['A'] "]]);
    assert.deepEqual(pieces(`\${{}}`), [[""]]);
    assert.deepEqual(pieces("$ {{ a }} {{ b }} }}"), ["$ {{ a }} {{ b }} }}"]);
  });

  it("ends an expression behind its quoted texts", () => {
    assert.deepEqual(pieces(`\${{ '}}' }}'`), [[" '}}' "], "'"]);
    assert.deepEqual(pieces(`\${{ 'it''s }}' == '\${{' }}}`), [[` 'it''s }}' == '\${{' `], "}"]);
    assert.deepEqual(pieces(`\${{ } }}`), [[" } "]]);
  });

  it("has `$${{` for `${{` itself", () => {
    assert.deepEqual(pieces(`a $\${{ env.A }}`), [`a \${{`, " env.A }}"]);
    assert.deepEqual(pieces(`$$\${{ \${{ env.A }}$\${{`), [`$\${{`, " ", ["env:A"], `\${{`]);
    assert.deepEqual([`$\${{ a }}`, "a", "$ {{"].map(hasExpression), [false, false, false]);
    assert.deepEqual([`\${{ a }}`, `$\${{ \${{`, `a \${{`].map(hasExpression), [true, true, true]);
  });

  it("is refused where an expression isn't closed", () => {
    for (const text of [`\${{ env.A`, `a \${{ 'b }}`, `\${{ a }} b \${{ } }`, `\${{ 'its }}`]) {
      const split = splitText(text);
      assert(split.kind === "invalid", text);
      assert.match(split.problem, /no closing `\}\}`; write `\$\$\{\{`/);
      assert.equal(split.at, text.lastIndexOf(`\${{`));
      assert.equal(split.length, 3);
    }
  });

  it("is split and evaluated without the parser's package", async () => {
    for (const file of ["textPieces", "names", "expression", "value", "evaluate", "callFunction"]) {
      const folder = file === "textPieces" ? "file" : "expression";
      const source = await readFile(
        new URL(`../../../src/pipeline/${folder}/${file}.ts`, import.meta.url),
        "utf8",
      );
      assert.doesNotMatch(source, /from "@actions|^import (?!type).*parseExpression/m, file);
    }
  });
});
