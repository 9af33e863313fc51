import assert from "node:assert/strict";
import { TerminalLines } from "../../../src/client/follow/terminalLines.ts";
import { SecretFilter } from "../../../src/client/service/foreignText.ts";
import { LineAssembler, type LogEntry } from "../../../src/contract/log.ts";
import { readTextExpectation } from "../../../src/pipeline/file/expectation.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { OutputSearch } from "../../../src/runner/output/textSearch.ts";
import { postgresToJson } from "../../../src/runner/sql/postgresReplies.ts";
import { linesOf } from "../../../src/service/page/pageLog.ts";
import {
  controlCharacters,
  replaceControlCharacters,
  sanitizeForTerminal,
} from "../../../src/text/controlCharacters.ts";
import { parseSgr, stripEscapeSequences } from "../../../src/text/escapeSequences.ts";
import { cut, holdsNear } from "../../near.ts";

describe("texts of programs", () => {
  it("what a program wrote drives no terminal, shows no key, and makes the same lines however it was cut", () =>
    holdsNear(
      {
        like: [
          "plain\n\u001b[31mred\u001b[0m and \u001b[1;38;5;200mpink\u001b[m\n\u001b]8;;http://a\u0007link\u001b]8;;\u0007\r\n10%\r20%\r\n",
          `key ${apiKey} and \u001b[1m${apiKey.slice(0, 9)}\u001b[0m${apiKey.slice(9)}\n\u202eabc\u2066\n`,
          "\u009b31mx\u0090q\u009c\u001bPq\u001b\\\u001b[?25l\u001b(0\u001bc\u0000\u0007",
          "\u001b[38;2;1;2;3mtrue\u001b[48:5:7m\u001b[4:3m\u001b[8mhidden\u001b[28m\n",
        ],
        words: [
          apiKey,
          apiKey.slice(0, 12),
          apiKey.slice(12),
          "\u001b[",
          "\u001b]",
          "\u001b[0m",
          "\u001b[8m",
          "\u001b[38;5;",
          "\u009b",
          "\r\n",
          "\r",
        ],
        longest: 4 * 1024,
      },
      checkLogText,
    ));
});

describe("texts with secrets", () => {
  it("no secret is seen in what is shown of a text, however it is cut and whenever it pauses", () =>
    holdsNear(
      {
        like: [
          "hunter2\n\npassword hunter2 and hunter2hunter2 or hunte",
          "aXaXaY|XaX\n\naXaXaXaXaYaXaX",
          "postgres://me:s%40cr3t@db/x\n\ns@cr3t s%40cr3t postgres://me:s%40cr3t@db/x",
          '-----BEGIN-----|line "two"\\n|aaa\n\n"line \\"two\\"\\\\n" -----BEGIN-----aaaa',
        ],
        words: ["aa", "ab", "|", "hunter", "\n\n", "***", "é", "%40", "&toString;", "&amp;", "\\\\"],
        longest: 2 * 1024,
      },
      checkMask,
    ));
});

describe("texts that come in pieces", () => {
  it("what is looked for in an output, a page's lines, and a secret that is typed are the same however the text is cut; a column's value is JSON", () =>
    holdsNear(
      {
        like: [
          "lamp\n\none\r\ntwo lamp three\n",
          "/^b+$/\n\nab\nbbb\r\nc",
          "x\n\nsecret\u007f\u001b[200~t\u001bOA\u0015key\r",
          "x\n\n{1,2,NULL}",
          'x\n\n{"a":1e400}',
          "x\n\n-12345678901234567890.10",
        ],
        words: ["\r\n", "\u001b[", "\u007f", "\u0003", "{", "}", "NULL", '"', "\\", "e400", "NaN", ".0"],
        broke: ["x\n\n{1e400}"],
        longest: 2 * 1024,
      },
      checkStreams,
    ));
});

const apiKey = "prk_fuzz_0123456789abcdef";

const esc = "\u001b";
const driving = new RegExp(`(?![\\n\\t])[${controlCharacters}]`, "u");
const shownOnOneLine = new RegExp(`[${controlCharacters}]`, "u");
const color = new RegExp(`${esc}\\[[0-9;:]*m`, "g");

function checkLogText(text: string, lengths: readonly number[]): void {
  const plain = stripEscapeSequences(text);
  assert(!/(?!\t)[\p{Cc}]/u.test(plain), "a text without looks has no control characters");
  const { pieces } = parseSgr(text);
  assert(pieces.map((piece) => piece.text).join("") === plain, "the pieces of a line are its text");
  assert(!shownOnOneLine.test(replaceControlCharacters(text)), "a visible text drives nothing");
  assert(
    replaceControlCharacters(replaceControlCharacters(text)) === replaceControlCharacters(text),
    "a visible text stays as it is",
  );
  for (const hasColor of [true, false]) {
    const shown = sanitizeForTerminal(text, hasColor);
    assert(!driving.test(hasColor ? shown.replace(color, "") : shown), "a harmless text drives nothing");
    assert(sanitizeForTerminal(shown, hasColor) === shown, "a harmless text stays as it is");
  }
  const whole = wholeLines([text]);
  assert.deepEqual(wholeLines(cut(text, lengths)), whole, "a log has the same lines however it is cut");
  checkShown(text, lengths);
  const streamed = new SecretFilter(new Set([apiKey, "short"]));
  const passed =
    cut(text, lengths)
      .map((piece) => streamed.add(piece))
      .join("") + streamed.rest();
  assert(
    passed === text.replaceAll(apiKey, "(the API key)"),
    "a text that is passed on is as it was, but for the key",
  );
}

function checkShown(text: string, lengths: readonly number[]): void {
  for (const hasColor of [true, false]) {
    const lines = logLines(cut(text, lengths), hasColor);
    assert.deepEqual(lines, logLines([text], hasColor), "a log is shown the same however it is cut");
    for (const line of lines) {
      const seen = hasColor ? line.replace(color, "") : line;
      assert(!/(?!\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(seen), "a line that is shown drives nothing");
      assert(!seen.includes(apiKey), "a line that is shown never holds the key");
      if (hasColor && line.includes("\u001b")) {
        assert(
          parseSgr(line).after.effects.size === 0 && parseSgr(line).after.foreground === undefined,
          "no look goes on behind its line",
        );
      }
    }
  }
}

function wholeLines(pieces: readonly string[]): string[] {
  const lines = new LineAssembler();
  return [...entriesOf(pieces).flatMap((entry) => lines.add(entry)), ...lines.rest()].map(({ text }) => text);
}

function logLines(pieces: readonly string[], hasColor: boolean): string[] {
  const lines = new TerminalLines({ hasColor, apiKeys: new Set([apiKey]) });
  return [...entriesOf(pieces).flatMap((entry) => lines.add(entry)), ...lines.rest()].map(({ text }) => text);
}

function entriesOf(pieces: readonly string[]): LogEntry[] {
  return pieces.map((text, index) => ({
    sequence: index + 1,
    at: "2026-03-03T10:00:00Z",
    stepIndex: 0,
    stream: "stdout",
    text,
  }));
}

/** The secrets are the parts of the first line between bars, the rest is the text. */
function checkMask(input: string, lengths: readonly number[]): void {
  const end = input.indexOf("\n\n");
  const values = (end === -1 ? input : input.slice(0, end)).split("|").slice(0, 6);
  const text = end === -1 ? "" : input.slice(end + 2);
  const mask = new Mask(values);
  // What consists of stars alone can't be told from what hides it.
  const secrets = values.filter((value) => value.length >= 4 && !/^\**$/.test(value));
  const whole = mask.hide(text);
  checkHidden(whole, secrets);
  const stream = mask.stream();
  let shown = "";
  for (const piece of cut(text, lengths)) {
    shown += stream.write(piece);
    checkHidden(shown + stream.rest(), secrets);
  }
  shown += stream.end();
  assert(shown === whole, "what is shown is the same however it was cut");
}

function checkHidden(shown: string, secrets: readonly string[]): void {
  for (const secret of secrets) {
    // Where stars stand for something, what is left beside them may spell a secret that has stars in it.
    if (secret.includes("*")) continue;
    assert(!shown.includes(secret), "no secret is shown");
  }
}

/** What is looked for stands before the first empty line, what is looked at behind it. */
function checkStreams(input: string, lengths: readonly number[]): void {
  const end = input.indexOf("\n\n");
  const text = end === -1 ? "" : input.slice(end + 2);
  const pieces = cut([...text], lengths).map((letters) => letters.join(""));
  const read = readTextExpectation((end === -1 ? input : input.slice(0, end)).slice(0, 20));
  // An expression of the file may take longer than is borne, which is an answer of its own.
  if (
    read.kind === "valid" &&
    (read.expectation.kind === "contains" || !/[+*{?(]/.test(read.expectation.source))
  ) {
    const found = [pieces, [text]].map((each) => {
      const search = new OutputSearch(read.expectation);
      for (const piece of each) search.write(piece);
      return search.end();
    });
    assert(found[0] === found[1], "an output holds what is looked for however it is cut");
  }
  checkLines(text, pieces);
  for (const type of [16, 21, 23, 20, 1700, 701, 25, 1000, 1007, 1009, 1231, 114, 3807, 199])
    checkColumn(text, type);
}

function checkLines(text: string, pieces: readonly string[]): void {
  const whole = linesOf(entriesOf([text])).map((line) => line.text);
  const other = linesOf(entriesOf(pieces)).map((line) => line.text);
  assert.deepEqual(other, whole, "a page has the same lines of a log however it was cut");
}

/** What the server may send of a type is narrower, so what can't be of it may be refused, but only in words. */
function checkColumn(text: string, type: number): void {
  let value: unknown;
  try {
    value = postgresToJson(text, type);
  } catch (error) {
    assert(error instanceof Error && error.message !== "", "a column that can't be read says why");
    return;
  }
  assert.deepEqual(
    JSON.parse(JSON.stringify(value)),
    negativeZeros(value),
    "a column's value is JSON, with what it holds",
  );
}

/** JSON has one zero. */
function negativeZeros(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(negativeZeros);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, negativeZeros(item)]));
}
