import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlias, isMap, isScalar, isSeq, type Node, parse, parseDocument } from "yaml";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { largestFile } from "../../../src/contract/limits.ts";
import { hoverAt } from "../../../src/pipeline/editing/hover.ts";
import { namedAt, problemOfNewName, renameAll } from "../../../src/pipeline/editing/named.ts";
import { type Outline, outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import { suggest } from "../../../src/pipeline/editing/suggest.ts";
import { templates } from "../../../src/pipeline/editing/templates.ts";
import { asYamlText, type Tree } from "../../../src/pipeline/editing/tree.ts";
import { parseDuration } from "../../../src/pipeline/file/duration.ts";
import { describeExpectation, readTextExpectation } from "../../../src/pipeline/file/expectation.ts";
import { hasExpression, splitText } from "../../../src/pipeline/file/textPieces.ts";
import { nearestName, quoted, type Span } from "../../../src/pipeline/mistakes/problem.ts";
import { edited } from "../../../src/pipeline/mistakes/repairs.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { isName, type ParsedPipeline } from "../../../src/pipeline/pipeline.ts";
import { readDatabaseUrl } from "../../../src/pipeline/types/databaseUrl.ts";
import { isBlank, transactionWord } from "../../../src/pipeline/types/statementText.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { searchFor } from "../../../src/runner/output/textSearch.ts";
import { bind } from "../../../src/runner/sql/serveSqlite.ts";
import { describeMismatches } from "../../../src/runner/step/jsonMismatches.ts";
import { StepFault } from "../../../src/runner/step/stepContext.ts";
import { controlCharacters } from "../../../src/text/controlCharacters.ts";
import { holdsNear } from "../../near.ts";

describe("pipeline files", () => {
  it("a text is read or told what is wrong inside it; what is read means the same printed anew, with other line ends, behind a mark", () =>
    holdsNear(
      {
        like: [`${samples[0]}`, ...samples.slice(1), ...templates.map(({ text }) => text)],
        words: [
          ..."\n|  |\t|- |: |&a |*a|<<: |!!str |!!binary |'|\"|#|?|>|>+2\n|---\n|...\n|%YAML 1.1\n".split(
            "|",
          ),
          "|-\n",
          ..."-1 1e999 0x1f 1_0 .nan 12:30:45 2026-01-01 /(a+)+$/ /[/ /(a|b)+$/u ${{ use type expect http sql browser".split(
            " ",
          ),
          `\${{ env.A }}`,
        ],
        broke: ["{: a: :"],
        longest: 8 * 1024,
      },
      checkPipelineFile,
    )).timeout(300_000);
});

describe("pipeline files in an editor", () => {
  it("what is suggested, shown, renamed or corrected at any place of any text stays inside it, and an edit of a good file leaves a good one", () =>
    holdsNear(
      {
        like: [
          "resources:\n  shell: { type: cli }\n  b: {type: http, base-url: http://a}\nsteps:\n  - name: a\n    use: shell\n    run: echo\n  - {use: b, get: /, expect: {status: 200}}\n",
          "resources: {a: {type: sql, url: 'sqlite::memory:'}}\nsteps:\n- use: a\n  query: select 1\n  expct: {rows: []}\n- use: aa\n",
          `name: x\ntime-limit: 5m\nresources:\n  v: &v\n    type: browser\nsteps:\n  - use: v\n    goto: http://h/\n    actions:\n      - click: { role: buton, name: \${{ env.A }} }\n`,
          "",
          "steps:\n  - ",
        ],
        words: ["<<: *v", "&v ", "*v", "- ", "\n  ", ": ", "? ", "\n    use: ", "{ ", " }", "|-\n"],
        broke: ["!memory - name: a", "steps::", "aa\n\na"],
        longest: 1024,
        fewer: 3,
      },
      checkEditing,
    ));
});

describe("values of steps", () => {
  it("a value of a step is read or refused in one short sentence, and what is expected of a reply is compared soundly", () =>
    holdsNear(
      {
        like: [
          "postgres://me:s%40cr3t@[::1]:5432/db?sslmode=require&host=/run",
          `postgres://\${{ env.A }}:\${{ env.B }}@h/d`,
          `mysql+x://a:\${{ env.B }}@h:3306/d?ssl-mode=REQUIRED&sslaccept=strict&socket=/s`,
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
      },
      checkStepValue,
    ));
});

const folder = join(projectRoot, "samples/pipelines");
const samples = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
const hidden = new RegExp(`[${controlCharacters}]`, "u");

function checkPipelineFile(text: string): void {
  const parsed = parsePipeline(text, "a.yaml");
  if (parsed.kind === "invalid") checkProblems(text, parsed.problems);
  else checkPipeline(text, parsed);
  // Nor is it known then what a repair that is tried makes of the text.
  if (isTooDeep(parsed) || /(?:- ){200}/.test(text)) return;
  if (!text.startsWith("\ufeff") && text.length < largestFile) {
    const marked = parsePipeline(`\ufeff${text}`, "a.yaml");
    if (!isTooDeep(marked)) assert.deepEqual(marked, parsed, "a mark before the text changes nothing");
  }
  if (!text.includes("\r")) checkLineEnds(text, parsed);
}

/** How deep can be read depends on what is on the stack, and on what of the reader is compiled by then. */
function isTooDeep(parsed: ParsedPipeline): boolean {
  return parsed.kind === "invalid" && parsed.problems.some(({ message }) => /too deep/.test(message));
}

function checkProblems(
  text: string,
  problems: Extract<ParsedPipeline, { kind: "invalid" }>["problems"],
): void {
  const lines = text.replace(/^\ufeff/, "").split("\n");
  let before = { line: 0, column: 0 };
  assert(problems.length <= 200, "problems are no more than a person looks at");
  for (const problem of problems) {
    const { message, line, column } = problem;
    assert(message !== "" && message.length < 400, "a message is short");
    assert(!hidden.test(message), "a message is one line of what can be shown");
    assert(line >= 1 && line <= lines.length, "a problem's line is in the text");
    assert(column >= 1 && column <= (lines[line - 1] ?? "").length + 1, "a problem's column is in its line");
    assert(
      line > before.line || (line === before.line && column >= before.column),
      "problems are in the order of the file",
    );
    before = problem;
  }
}

function checkPipeline(text: string, { pipeline, nameAt }: Extract<ParsedPipeline, { kind: "valid" }>): void {
  assert(isName(pipeline.name), "a pipeline has a name that can be asked for");
  assert(nameAt.line >= 1 && nameAt.line <= text.split("\n").length, "the name's place is in the text");
  const printed = printedPipeline(text);
  const again = parsePipeline(printed, "a.yaml");
  assert(again.kind === "valid", "what was accepted is accepted printed anew");
  assert.deepEqual(again.pipeline, pipeline, "what was accepted means the same printed anew");
}

function checkLineEnds(text: string, parsed: ParsedPipeline): void {
  const other = parsePipeline(text.replaceAll("\n", "\r\n"), "a.yaml");
  assert(
    other.kind === parsed.kind || text.length * 2 > largestFile || isTooDeep(other),
    "a text is accepted whatever its line ends",
  );
  if (parsed.kind === "valid" && other.kind === "valid") {
    assert.deepEqual(other.pipeline, parsed.pipeline, "line ends don't change what a text means");
  }
}

function checkEditing(text: string, lengths: readonly number[]): void {
  const outline = outlineOf(text);
  checkTree(text, outline.tree);
  const parsed = parsePipeline(text, "a.yaml");
  // The parser takes a mark before the text away, of which an editor knows nothing.
  if (parsed.kind === "invalid" && !text.startsWith("\ufeff"))
    checkCorrections(text, outline, parsed.problems);
  const everywhere = [...Array(text.length + 1).keys()];
  const offsets =
    text.length <= 20 ? everywhere : lengths.slice(0, 4).map((length) => (length * 997) % everywhere.length);
  for (const offset of offsets) {
    checkSuggestions(text, offset);
    const hover = hoverAt(text, outline, offset);
    if (hover !== undefined) {
      checkSpan(text, hover.span, "a hover");
      assert(hover.span.start <= offset && offset <= hover.span.end, "a hover is where the pointer is");
    }
    checkRename(text, offset, outline, parsed);
  }
}

function checkSuggestions(text: string, offset: number): void {
  for (const suggestion of suggest(text, offset)) {
    const { replaces, label } = suggestion;
    checkSpan(text, replaces, "a suggestion");
    assert(label !== "", "a suggestion has a label");
    assert(replaces.start <= offset && offset <= replaces.end, "a suggestion replaces what is at the caret");
    assert(
      !text.slice(replaces.start, offset).includes("\n"),
      "a suggestion replaces nothing of another line",
    );
  }
}

function checkRename(text: string, offset: number, outline: Outline, parsed: ParsedPipeline): void {
  const resource = namedAt(text, outline, offset);
  const name = "renamed-1";
  if (resource?.kind !== "resource" || problemOfNewName(outline, resource, name) !== undefined) return;
  const edits = renameAll(resource, name);
  for (const { span } of edits) checkSpan(text, span, "a rename");
  if (parsed.kind === "invalid") return;
  const renamed = parsePipeline(edited(text, edits), "a.yaml");
  assert(renamed.kind === "valid", "a good file with a renamed resource is good");
  const expected = parsed.pipeline.resources
    .map((other) => (other.name === resource.name ? name : other.name))
    .toSorted();
  assert.deepEqual(
    renamed.pipeline.resources.map((other) => other.name).toSorted(),
    expected,
    "a rename gives the resource its name",
  );
}

function checkCorrections(
  text: string,
  outline: Outline,
  problems: Extract<ParsedPipeline, { kind: "invalid" }>["problems"],
): void {
  for (const problem of problems.slice(0, 10)) {
    const span = problemSpan(text, outline.tree, problem);
    checkSpan(text, span, "a problem's underline");
    const fix = fixOf(text, span, problem);
    if (fix === undefined) continue;
    for (const { span: part } of fix.edits) checkSpan(text, part, "a correction");
    const mended = edited(text, fix.edits);
    assert(mended !== text, "a correction changes something");
    const after = parsePipeline(mended, "a.yaml");
    const stays =
      after.kind === "invalid" &&
      after.problems.some(
        ({ line, column, message }) =>
          line === problem.line && column === problem.column && message === problem.message,
      );
    assert(!stays, "a correction mends the problem that it is for");
  }
}

function checkSpan(text: string, { start, end }: Span, what: string): void {
  assert(0 <= start && start <= end && end <= text.length, `${what} is inside the text`);
}

function checkTree(text: string, tree: Tree | undefined): void {
  if (tree === undefined) return;
  checkSpan(text, tree, "a part");
  if (tree.kind === "map") {
    for (const { name, value } of tree.entries) {
      checkSpan(text, name, "a name");
      checkTree(text, value);
    }
  } else if (tree.kind === "list") {
    for (const item of tree.items) checkTree(text, item);
  }
}

const mask = new Mask(["hunter22"]);

function checkStepValue(text: string): void {
  checkAddress(text);
  const split = splitText(text);
  if (split.kind === "valid") {
    const joined = split.pieces
      .map((piece) =>
        piece.kind === "words"
          ? piece.words
          : `\${{${piece.kind === "variable" ? `env.${piece.name}` : piece.source}}}`,
      )
      .join("");
    const again = splitText(joined);
    assert(
      again.kind === "valid" && again.pieces.length === split.pieces.length,
      "a text's references are the same written and read again",
    );
    assert(hasExpression(text) || joined === text, "a text without references is its words");
  } else checkSentence(split.problem);
  const duration = parseDuration(text);
  assert(
    duration === undefined || (Number.isFinite(duration) && duration >= 0),
    "a length of time is a number of milliseconds",
  );
  const expectation = readTextExpectation(text);
  if (expectation.kind === "invalid") checkSentence(expectation.problem);
  else {
    assert(describeExpectation(expectation.expectation) !== "", "what is expected can be told");
    if (expectation.expectation.kind === "contains")
      assert(searchFor(expectation.expectation)(`a${text}b`), "words are found where they stand");
  }
  assert(
    quoted(text).length <= 61 && !/[\n\r\u2028]/.test(quoted(text)),
    "what is quoted is short and on one line",
  );
  assert(
    parse(asYamlText(text.slice(0, 200))) === text.slice(0, 200),
    "a name written as YAML is read as it was",
  );
  nearestName(text, ["http", "sql", "browser", "cli"]);
  if (!isBlank(text))
    assert(
      transactionWord(text) === transactionWord(`;\n-- x\n/* y */ ${text}`),
      "comments hide no transaction",
    );
  try {
    bind(text, [1, "a"]);
  } catch (error) {
    assert(error instanceof StepFault && error.message !== "", "wrong parameters are told");
  }
  checkJson(text);
}

function checkAddress(text: string): void {
  const read = readDatabaseUrl(text);
  if (read.kind === "invalid") {
    checkSentence(read.problem);
    assert(!/:hunter22@/.test(text) || !read.problem.includes("hunter22"), "a password is not repeated");
  } else if (read.database.kind === "postgres" && text.isWellFormed() && !/[\ue000\ue001]/.test(text)) {
    const parts = Object.values(read.database).filter((part) => typeof part === "string");
    assert(!/[\ue000\ue001]/.test(parts.join(" ")), "no stand-in stays in an address");
  }
}

function checkSentence(problem: string): void {
  assert(problem !== "" && problem.length < 3000, "a problem is one sentence");
}

function checkJson(text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  assert(describeMismatches(value, value, mask).length === 0, "a value is as expected of itself");
  const other: unknown = { a: [1, { b: 2 }], c: "hunter22" };
  for (const lines of [describeMismatches(value, other, mask), describeMismatches(other, value, mask)]) {
    assert(lines.length <= 10 && lines.every((line) => line.length < 20_000), "mismatches are few and short");
    assert(!lines.join("").includes("hunter22"), "no mismatch shows a secret");
  }
}

/**
 * The YAML text of a pipeline file in another spelling: one line of flow maps and quoted texts, aliases written out. A
 * number or truth value stays as it was written, since the parser hands that on.
 */
function printedPipeline(text: string): string {
  const document = parseDocument(text.replace(/^\ufeff/, ""), {
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "silent",
  });
  const anchors = new Map<string, Node>();
  const print = (node: unknown): string => {
    if (node === null || node === undefined) return "null";
    if (isAlias(node)) return print(anchors.get(node.source));
    if (isScalar(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (typeof node.value === "string") return JSON.stringify(node.value);
      return node.source === undefined || node.source === "" ? "null" : node.source;
    }
    if (isSeq(node)) {
      const printed = `[${node.items.map(print).join(", ")}]`;
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      return printed;
    }
    if (isMap(node)) {
      const entries = node.items.map(({ key, value }) => `? ${keyText(key)} : ${print(value)}`);
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      return `{${entries.join(", ")}}`;
    }
    return "null";
  };
  return print(document.contents);
}

function keyText(key: unknown): string {
  return JSON.stringify(isScalar(key) ? String(key.value ?? "") : "");
}
