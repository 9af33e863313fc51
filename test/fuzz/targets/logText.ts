import { isDeepStrictEqual } from "node:util";
import { LogLines } from "../../../src/client/logLines.ts";
import { readAnsi, withoutAnsi } from "../../../src/contract/ansi.ts";
import { harmless } from "../../../src/contract/harmless.ts";
import type { LogEntry } from "../../../src/contract/logEntry.ts";
import { unshown } from "../../../src/contract/unshown.ts";
import { visible } from "../../../src/contract/visible.ts";
import { WholeLines } from "../../../src/contract/wholeLines.ts";
import { must } from "../engine/broken.ts";
import { seededRandom, seedOf } from "../engine/random.ts";
import type { Target } from "../engine/target.ts";

const apiKey = "prk_fuzz_0123456789abcdef";

export const logTextTarget: Target = {
  name: "log-text",
  property:
    "what a program wrote drives no terminal, shows no key, and makes the same lines however it was cut",
  covers: ["src/contract", "src/client/logLines.ts", "src/client/http/foreignText.ts"],
  seeds: [
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
  mostSteps: ({ length }) => 60_000 + length * 500,
  open: () => ({ check }),
};

const esc = "\u001b";
const driving = new RegExp(`(?![\\n\\t])[${unshown}]`, "u");
const shownOnOneLine = new RegExp(`[${unshown}]`, "u");
const color = new RegExp(`${esc}\\[[0-9;:]*m`, "g");

function check(text: string): void {
  const plain = withoutAnsi(text);
  must(!/(?!\t)[\p{Cc}]/u.test(plain), "a text without looks has no control characters", () => plain);
  const { pieces } = readAnsi(text);
  must(pieces.map((piece) => piece.text).join("") === plain, "the pieces of a line are its text", () => ({
    pieces,
    plain,
  }));
  must(!shownOnOneLine.test(visible(text)), "a visible text drives nothing", () => visible(text));
  must(visible(visible(text)) === visible(text), "a visible text stays as it is", () => visible(text));
  for (const hasColor of [true, false]) {
    const shown = harmless(text, hasColor);
    must(
      !driving.test(hasColor ? shown.replace(color, "") : shown),
      "a harmless text drives nothing",
      () => shown,
    );
    must(harmless(shown, hasColor) === shown, "a harmless text stays as it is", () => shown);
  }
  const whole = wholeLines([text]);
  must(isDeepStrictEqual(wholeLines(cut(text)), whole), "a log has the same lines however it is cut", () => ({
    whole,
    cut: cut(text),
  }));
  checkShown(text);
}

function checkShown(text: string): void {
  for (const hasColor of [true, false]) {
    const lines = logLines(cut(text), hasColor);
    must(
      isDeepStrictEqual(lines, logLines([text], hasColor)),
      "a log is shown the same however it is cut",
      () => lines,
    );
    for (const line of lines) {
      const seen = hasColor ? line.replace(color, "") : line;
      must(
        !/(?!\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(seen),
        "a line that is shown drives nothing",
        () => line,
      );
      must(!seen.includes(apiKey), "a line that is shown never holds the key", () => line);
      if (hasColor && line.includes("\u001b")) {
        must(
          readAnsi(line).after.effects.size === 0 && readAnsi(line).after.foreground === undefined,
          "no look goes on behind its line",
          () => line,
        );
      }
    }
  }
}

function cut(text: string): string[] {
  const random = seededRandom(seedOf(text));
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + random.below(9);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

function wholeLines(pieces: readonly string[]): string[] {
  const lines = new WholeLines();
  return [...entriesOf(pieces).flatMap((entry) => lines.add(entry)), ...lines.rest()].map(({ text }) => text);
}

function logLines(pieces: readonly string[], hasColor: boolean): string[] {
  const lines = new LogLines({ hasColor, apiKeys: new Set([apiKey]) });
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
