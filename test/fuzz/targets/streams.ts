import { isDeepStrictEqual } from "node:util";
import { SecretLine } from "../../../src/cli/secretLine.ts";
import type { LogEntry } from "../../../src/contract/logEntry.ts";
import { readTextExpectation } from "../../../src/pipeline/textExpectation.ts";
import { linesOf } from "../../../src/service/page/logLines.ts";
import { OutputSearch } from "../../../src/service/runner/cli/outputSearch.ts";
import { postgresToJson } from "../../../src/service/runner/sql/postgres/postgresValue.ts";
import { must } from "../engine/broken.ts";
import { seededRandom, seedOf } from "../engine/random.ts";
import type { Target } from "../engine/target.ts";

export const streamsTarget: Target = {
  name: "streams",
  property:
    "what is looked for in an output, a page's lines, and a secret that is typed are the same however the text is cut; a column's value is JSON",
  covers: [
    "src/cli/secretLine.ts",
    "src/service/page/logLines.ts",
    "src/service/runner/cli/outputSearch.ts",
    "src/service/runner/sql/postgres/postgresValue.ts",
  ],
  seeds: [
    "lamp\n\none\r\ntwo lamp three\n",
    "/^b+$/\n\nab\nbbb\r\nc",
    "x\n\nsecret\u007f\u001b[200~t\u001bOA\u0015key\r",
    "x\n\n{1,2,NULL}",
    'x\n\n{"a":1e400}',
    "x\n\n-12345678901234567890.10",
  ],
  words: ["\r\n", "\u001b[", "\u007f", "\u0003", "{", "}", "NULL", '"', "\\", "e400", "NaN", ".0"],
  longest: 2 * 1024,
  mostSteps: ({ length }) => 40_000 + length * 400,
  open: () => ({ check }),
};

/** What is looked for stands before the first empty line, what is looked at behind it. */
function check(input: string): void {
  const end = input.indexOf("\n\n");
  const text = end === -1 ? "" : input.slice(end + 2);
  const pieces = cut(text);
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
    must(found[0] === found[1], "an output holds what is looked for however it is cut", () => ({
      read,
      pieces,
      found,
    }));
  }
  checkLines(text, pieces);
  checkTyped(text, pieces);
  for (const type of [16, 21, 23, 20, 1700, 701, 25, 1000, 1007, 1009, 1231, 114, 3807, 199])
    checkColumn(text, type);
}

function checkLines(text: string, pieces: readonly string[]): void {
  const whole = linesOf(entries([text])).map((line) => line.text);
  const other = linesOf(entries(pieces)).map((line) => line.text);
  must(isDeepStrictEqual(other, whole), "a page has the same lines of a log however it was cut", () => ({
    pieces,
    whole,
    other,
  }));
}

function checkTyped(text: string, pieces: readonly string[]): void {
  const [whole, other] = [[text], pieces].map((each) => {
    const line = new SecretLine(500);
    for (const piece of each) {
      const typed = line.feed(piece);
      if (typed.kind !== "typing") return typed;
    }
    return "typing";
  });
  must(isDeepStrictEqual(other, whole), "a secret is the same however its keys come", () => ({
    pieces,
    whole,
    other,
  }));
  if (typeof whole === "object" && whole.kind === "entered") {
    must(
      !/\p{Cc}/u.test(whole.text.replaceAll(/[\u0080-\u009f]/g, "")),
      "no key of a terminal gets into a secret",
      () => whole,
    );
  }
}

/** What the server may send of a type is narrower, so what can't be of it may be refused, but only in words. */
function checkColumn(text: string, type: number): void {
  let value: unknown;
  try {
    value = postgresToJson(text, type);
  } catch (error) {
    must(error instanceof Error && error.message !== "", "a column that can't be read says why", () => error);
    return;
  }
  must(
    isDeepStrictEqual(JSON.parse(JSON.stringify(value)), negativeZeros(value)),
    "a column's value is JSON, with what it holds",
    () => ({ type, text, value }),
  );
}

/** JSON has one zero. */
function negativeZeros(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(negativeZeros);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, negativeZeros(item)]));
}

function cut(text: string): string[] {
  const random = seededRandom(seedOf(text));
  const pieces: string[] = [];
  const letters = [...text];
  for (let at = 0; at < letters.length; ) {
    const length = 1 + random.below(5);
    pieces.push(letters.slice(at, at + length).join(""));
    at += length;
  }
  return pieces;
}

function entries(pieces: readonly string[]): LogEntry[] {
  return pieces.map((text, index) => ({
    sequence: index + 1,
    at: "2026-03-03T10:00:00Z",
    stepIndex: 0,
    stream: "stdout",
    text,
  }));
}
