import { parse } from "yaml";
import { parseDuration } from "../../../src/pipeline/duration.ts";
import { durationInWords } from "../../../src/pipeline/editing/hover.ts";
import { asYamlText } from "../../../src/pipeline/editing/plainText.ts";
import { hasReference, splitReferences } from "../../../src/pipeline/environmentReference.ts";
import { nearestName } from "../../../src/pipeline/nearestName.ts";
import { quoted } from "../../../src/pipeline/quoted.ts";
import { readDatabaseUrl } from "../../../src/pipeline/sql/databaseUrl.ts";
import { isBlank, transactionWord } from "../../../src/pipeline/sql/statementText.ts";
import { describeExpectation, readTextExpectation } from "../../../src/pipeline/textExpectation.ts";
import { describeMismatches } from "../../../src/service/runner/jsonMismatches.ts";
import { Mask } from "../../../src/service/runner/mask.ts";
import { bind } from "../../../src/service/runner/sql/sqlite/sqliteValue.ts";
import { searchFor } from "../../../src/service/runner/textSearch.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";

export const stepValuesTarget: Target = {
  name: "step-values",
  property:
    "a value of a step is read or refused in one short sentence, in bounded work, and what is expected of a reply is compared soundly",
  covers: [
    "src/pipeline/sql",
    "src/pipeline/duration.ts",
    "src/pipeline/environmentReference.ts",
    "src/pipeline/nearestName.ts",
    "src/pipeline/textExpectation.ts",
    "src/service/runner/jsonMismatches.ts",
    "src/service/runner/sql/sqlite/sqliteValue.ts",
  ],
  seeds: [
    "postgres://me:s%40cr3t@[::1]:5432/db?sslmode=require&host=/run",
    `postgres://\${{ env.A }}:\${{ env.B }}@h/d`,
    "sqlite:a.db?mode=ro",
    "sqlite::memory:",
    "1.5m",
    "/^a+$/iu",
    '{"a":[1,{"b":null}],"c":"x"}',
    "select ?, '?', \"?\", [?], -- ?\n $1, :name /* ? */ from t where a = ?2",
    "  -- x\n/* y */; rollback to s",
    "yes",
  ],
  words: [
    `\${{ env.A }}`,
    "${{",
    "}}",
    "sslmode=",
    "?mode=",
    "postgresql://",
    "\ue000",
    "\ue0000\ue001",
    "begin",
    "commit",
    "$1",
    "?1",
  ],
  longest: 2 * 1024,
  mostSteps: ({ length }) => 60_000 + length * 400,
  open: () => ({ check }),
};

const mask = new Mask(["hunter22"]);

function check(text: string): void {
  checkAddress(text);
  const split = splitReferences(text);
  if (split.kind === "valid") {
    const joined = split.pieces
      .map((piece) => (piece.kind === "words" ? piece.words : `\${{ env.${piece.name} }}`))
      .join("");
    const again = splitReferences(joined);
    must(
      again.kind === "valid" && again.pieces.length === split.pieces.length,
      "a text's references are the same written and read again",
      () => ({ split, again }),
    );
    must(hasReference(text) || joined === text, "a text without references is its words", () => joined);
  } else checkSentence(split.problem);
  const duration = parseDuration(text);
  must(
    duration === undefined || (Number.isFinite(duration) && duration >= 0),
    "a length of time is a number of milliseconds",
    () => duration,
  );
  must(durationInWords(text) !== "", "a length of time has words", () => text);
  const expectation = readTextExpectation(text);
  if (expectation.kind === "invalid") checkSentence(expectation.problem);
  else {
    must(
      describeExpectation(expectation.expectation) !== "",
      "what is expected can be told",
      () => expectation,
    );
    if (expectation.expectation.kind === "contains")
      must(searchFor(expectation.expectation)(`a${text}b`), "words are found where they stand", () => text);
  }
  must(
    quoted(text).length <= 61 && !/[\n\r\u2028]/.test(quoted(text)),
    "what is quoted is short and on one line",
    () => quoted(text),
  );
  must(
    parse(asYamlText(text.slice(0, 200))) === text.slice(0, 200),
    "a name written as YAML is read as it was",
    () => asYamlText(text.slice(0, 200)),
  );
  nearestName(text, ["http", "sql", "browser", "cli"]);
  if (!isBlank(text))
    must(
      transactionWord(text) === transactionWord(`;\n-- x\n/* y */ ${text}`),
      "comments hide no transaction",
      () => transactionWord(text),
    );
  const bound = bind(text, [1, "a"]);
  if (bound.kind === "invalid") must(bound.problem !== "", "wrong parameters are told", () => bound);
  checkJson(text);
}

function checkAddress(text: string): void {
  const read = readDatabaseUrl(text);
  if (read.kind === "invalid") {
    checkSentence(read.problem);
    must(
      !/:hunter22@/.test(text) || !read.problem.includes("hunter22"),
      "a password is not repeated",
      () => read.problem,
    );
  } else if (read.database.kind === "postgres" && text.isWellFormed() && !/[\ue000\ue001]/.test(text)) {
    const parts = Object.values(read.database)
      .filter((part) => typeof part === "string")
      .join(" ");
    must(!/[\ue000\ue001]/.test(decodable(parts)), "no stand-in stays in an address", () => read.database);
  }
}

/** What an address itself writes as a code may be any character. */
function decodable(text: string): string {
  return text;
}

function checkSentence(problem: string): void {
  must(problem !== "" && problem.length < 3000, "a problem is one sentence", () => problem);
}

function checkJson(text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  must(describeMismatches(value, value, mask).length === 0, "a value is as expected of itself", () => value);
  const other: unknown = { a: [1, { b: 2 }], c: "hunter22" };
  for (const lines of [describeMismatches(value, other, mask), describeMismatches(other, value, mask)]) {
    must(
      lines.length <= 10 && lines.every((line) => line.length < 20_000),
      "mismatches are few and short",
      () => lines.map((line) => line.length),
    );
    must(!lines.join("").includes("hunter22"), "no mismatch shows a secret", () => lines);
  }
}
