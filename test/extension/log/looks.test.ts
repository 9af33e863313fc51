import assert from "node:assert/strict";
import type { ThemeColor } from "vscode";
import { readAnsi } from "../../../src/contract/ansi.ts";
import { lookKeys } from "../../../src/extension/log/lookKeys.ts";
import { lookOptions } from "../../../src/extension/log/lookOptions.ts";

const esc = "\u001b";
const color = (id: string): ThemeColor => ({ id });
const keysOf = (codes: string) => {
  const [piece] = readAnsi(`${esc}[${codes}mx`).pieces;
  assert(piece !== undefined);
  return lookKeys(piece.style);
};

describe("the looks of a log's text", () => {
  it("are the theme's colours for terminals", () => {
    assert.deepEqual(keysOf("32"), ["text-2"]);
    assert.deepEqual(lookOptions("text-2", color), { color: { id: "terminal.ansiGreen" } });
    assert.deepEqual(keysOf("91;1;4"), ["text-9", "bold", "underline"]);
    assert.deepEqual(lookOptions("ground-4", color), { backgroundColor: { id: "terminal.ansiBlue" } });
  });

  it("keep text readable that would nearly have its ground's colour", () => {
    const quiet = { color: { id: "descriptionForeground" } };
    assert.deepEqual(lookOptions("text-0", color).dark, quiet);
    assert.deepEqual(lookOptions("text-8", color), quiet);
    assert.deepEqual(lookOptions("text-15", color).light, { color: { id: "editor.foreground" } });
    assert.deepEqual(keysOf("41"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(lookOptions("text-for-ground-1", color).light, { color: { id: "editor.background" } });
    assert.deepEqual(keysOf("37;41"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(keysOf("33;41"), ["ground-1", "text-on-color-3"]);
    const dark = { color: { id: "terminal.ansiBrightBlue" } };
    assert.deepEqual(lookOptions("text-4", color), { light: { color: { id: "terminal.ansiBlue" } }, dark });
    assert.deepEqual(lookOptions("text-12", color), { light: { color: { id: "terminal.ansiBlue" } }, dark });
  });

  it("turn the colours of inverse text round", () => {
    assert.deepEqual(keysOf("7"), ["inverse-ground", "inverse-text"]);
    assert.deepEqual(keysOf("31;7"), ["ground-1", "text-for-ground-1"]);
    assert.deepEqual(keysOf("31;42;7"), ["ground-1", "text-on-color-2"]);
    assert.deepEqual(keysOf("42;7"), ["inverse-ground", "text-on-color-2"]);
  });

  it("are something for every code that a terminal knows", () => {
    for (let code = 0; code < 120; code++) {
      for (const key of keysOf(String(code))) assert.notDeepEqual(lookOptions(key, color), {}, key);
    }
  });
});
