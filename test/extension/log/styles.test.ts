import assert from "node:assert/strict";
import type { ThemeColor } from "vscode";
import { styleDecorations } from "../../../src/extension/log/painter.ts";
import { parseSgr } from "../../../src/text/escapeSequences.ts";

const esc = "\u001b";
const color = (id: string): ThemeColor => ({ id });
const stylesOf = (codes: string) => {
  const [piece] = parseSgr(`${esc}[${codes}mx`).pieces;
  assert(piece !== undefined);
  return styleDecorations(piece.style, color);
};
const namesOf = (codes: string) => Object.keys(stylesOf(codes));

describe("the styles of a log's text", () => {
  it("are the theme's colours for terminals", () => {
    assert.deepEqual(stylesOf("32"), { "text-2": { color: { id: "terminal.ansiGreen" } } });
    assert.deepEqual(namesOf("91;1;4"), ["text-9", "bold", "underline"]);
    assert.deepEqual(stylesOf("44")["ground-4"], { backgroundColor: { id: "terminal.ansiBlue" } });
    assert.deepEqual(stylesOf("33;105")["text-on-color-3"], { color: { id: "terminal.ansiYellow" } });
    assert.deepEqual(stylesOf("33;105")["ground-13"], {
      backgroundColor: { id: "terminal.ansiBrightMagenta" },
    });
  });

  it("keep text readable that would nearly have its ground's colour", () => {
    const quiet = { color: { id: "descriptionForeground" } };
    assert.deepEqual(stylesOf("30")["text-0"]?.dark, quiet);
    assert.deepEqual(stylesOf("90")["text-8"], quiet);
    assert.deepEqual(stylesOf("97")["text-15"]?.light, { color: { id: "editor.foreground" } });
    assert.deepEqual(namesOf("41"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(stylesOf("41")["text-for-ground-1"]?.light, { color: { id: "editor.background" } });
    assert.deepEqual(namesOf("37;41"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(namesOf("33;41"), ["ground-1", "text-on-color-3"]);
    const dark = { color: { id: "terminal.ansiBrightBlue" } };
    assert.deepEqual(stylesOf("34")["text-4"], { light: { color: { id: "terminal.ansiBlue" } }, dark });
    assert.deepEqual(stylesOf("94")["text-12"], { light: { color: { id: "terminal.ansiBlue" } }, dark });
  });

  it("dim text with a colour, and have the quiet colour for text without one", () => {
    assert.deepEqual(stylesOf("2"), { quiet: { color: { id: "descriptionForeground" } } });
    assert.deepEqual(stylesOf("2;32")["dim"], { opacity: "0.75" });
  });

  it("turn the colours of inverse text round", () => {
    assert.deepEqual(namesOf("7"), ["inverse-ground", "inverse-text"]);
    assert.deepEqual(namesOf("31;7"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(namesOf("31;42;7"), ["ground-1", "text-on-color-2"]);
    assert.deepEqual(namesOf("42;7"), ["inverse-ground", "text-on-color-2"]);
  });

  it("are something for every code that a terminal knows", () => {
    for (let code = 0; code < 120; code++) {
      for (const [name, options] of Object.entries(stylesOf(String(code))))
        assert.notDeepEqual(options, {}, name);
    }
  });
});
