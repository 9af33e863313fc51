import assert from "node:assert/strict";
import fc from "fast-check";
import { styledTexts } from "../../src/service/page/pageLog.ts";
import { stripEscapeSequences } from "../../src/text/escapeSequences.ts";

const esc = "\u001b";

describe("the colours of a log", () => {
  it("become classes, and end where they end", () => {
    assert.deepEqual(styledTexts(`a ${esc}[1;31mred${esc}[22m still${esc}[0m b`), [
      { text: "a ", classes: "" },
      { text: "red", classes: "ansi-bold ansi-1" },
      { text: " still", classes: "ansi-1" },
      { text: " b", classes: "" },
    ]);
    assert.deepEqual(styledTexts(`${esc}[97;44mx${esc}[39my${esc}[49mz`), [
      { text: "x", classes: "ansi-15 ansi-on-4" },
      { text: "y", classes: "ansi-on-4" },
      { text: "z", classes: "" },
    ]);
  });

  it("of a larger palette become the nearest of the sixteen", () => {
    const classOf = (code: string) => styledTexts(`${esc}[${code}mx`)[0]?.classes;
    assert.equal(classOf("38;5;9"), "ansi-1");
    assert.equal(classOf("38;5;196"), "ansi-1");
    assert.equal(classOf("38;2;0;160;0"), "ansi-2");
    assert.equal(classOf("38:2:30:60:250"), "ansi-4");
    assert.equal(classOf("48;5;232"), "ansi-on-0");
    assert.equal(classOf("38;5;21;1"), "ansi-bold ansi-4");
  });

  it("are all that is obeyed: what moves the cursor, names the window or makes a link is left out", () => {
    const line = [
      `${esc}[2K${esc}[1Gone${esc}]0;title\u0007 `,
      `${esc}]8;;https://elsewhere.example${esc}\\two${esc}]8;;${esc}\\`,
      `\u0008\u0000 th\tree${esc}(B${esc}[?25l`,
    ].join("");
    assert.deepEqual(styledTexts(line), [{ text: "one two th\tree", classes: "" }]);
    assert.equal(stripEscapeSequences(line), "one two th\tree");
  });

  it("never let a control character through, whatever a program writes", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(esc, `${esc}[`, `${esc}]`, `${esc}P`, "\u009b", "\u0007", "38;5;", ";", "m", "\\"),
      fc.integer({ min: 0, max: 120 }).map((code) => `${esc}[${code}m`),
      fc.integer({ min: 0, max: 999 }).map((code) => `${esc}[38;5;${code}m`),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const line = pieces.join("").replaceAll("\n", "");
        const read = styledTexts(line);
        const text = read.map((part) => part.text).join("");
        assert.equal(text, stripEscapeSequences(line));
        assert.doesNotMatch(text, /[^\P{Cc}\t]/u);
        for (const { classes } of read) assert.match(classes, /^(ansi-(\d{1,2}|on-\d{1,2}|[a-z]+)( |$))*$/);
      }),
    );
  });
});
