import { isDeepStrictEqual } from "node:util";
import { hoverAt } from "../../../src/pipeline/editing/hover.ts";
import { type Outline, outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { correction, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import {
  type Edit,
  problemOfNewName,
  renameResource,
  resourceAt,
} from "../../../src/pipeline/editing/resourceNames.ts";
import { suggest } from "../../../src/pipeline/editing/suggest.ts";
import type { Span, Tree } from "../../../src/pipeline/editing/tree.ts";
import { type ParsedPipeline, parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import { must } from "../engine/broken.ts";
import { seededRandom, seedOf } from "../engine/random.ts";
import type { Target } from "../engine/target.ts";

export const pipelineEditingTarget: Target = {
  name: "pipeline-editing",
  property:
    "what is suggested, shown, renamed or corrected at any place of any text stays inside it, and an edit of a good file leaves a good one",
  covers: ["src/pipeline/editing"],
  seeds: [
    "resources:\n  shell: { type: cli }\n  b: {type: http, base-url: http://a}\nsteps:\n  - name: a\n    use: shell\n    run: echo\n  - {use: b, get: /, expect: {status: 200}}\n",
    "resources: {a: {type: sql, url: 'sqlite::memory:'}}\nsteps:\n- use: a\n  query: select 1\n  expct: {rows: []}\n- use: aa\n",
    `name: x\ntime-limit: 5m\nresources:\n  v: &v\n    type: browser\nsteps:\n  - use: v\n    goto: http://h/\n    actions:\n      - click: { role: buton, name: \${{ env.A }} }\n`,
    "",
    "steps:\n  - ",
  ],
  words: ["<<: *v", "&v ", "*v", "- ", "\n  ", ": ", "? ", "\n    use: ", "{ ", " }", "|-\n"],
  longest: 4 * 1024,
  batch: 20,
  open: () => ({ check }),
};

function check(text: string): void {
  const outline = outlineOf(text);
  checkTree(text, outline.tree);
  const parsed = parsePipeline(text, "a.yaml");
  // The parser takes a mark before the text away, of which an editor knows nothing.
  if (parsed.kind === "invalid" && !text.startsWith("\ufeff"))
    checkCorrections(text, outline, parsed.problems);
  const random = seededRandom(seedOf(text));
  const offsets =
    text.length <= 20
      ? [...Array(text.length + 1).keys()]
      : Array.from({ length: 4 }, () => random.below(text.length + 1));
  for (const offset of offsets) {
    checkSuggestions(text, offset);
    const hover = hoverAt(text, outline, offset);
    if (hover !== undefined) {
      checkSpan(text, hover.span, "a hover");
      must(hover.span.start <= offset && offset <= hover.span.end, "a hover is where the pointer is", () => ({
        offset,
        hover,
      }));
    }
    checkRename(text, offset, outline, parsed);
  }
}

function checkSuggestions(text: string, offset: number): void {
  for (const suggestion of suggest(text, offset)) {
    const { replaces, label } = suggestion;
    checkSpan(text, replaces, "a suggestion");
    must(label !== "", "a suggestion has a label", () => suggestion);
    must(
      replaces.start <= offset && offset <= replaces.end,
      "a suggestion replaces what is at the caret",
      () => ({ offset, suggestion }),
    );
    must(
      !text.slice(replaces.start, offset).includes("\n"),
      "a suggestion replaces nothing of another line",
      () => ({ offset, suggestion }),
    );
  }
}

function checkRename(text: string, offset: number, outline: Outline, parsed: ParsedPipeline): void {
  const resource = resourceAt(outline, offset);
  const name = "renamed-1";
  if (resource === undefined || problemOfNewName(outline, resource.name, name) !== undefined) return;
  const edits = renameResource(resource, name);
  for (const { span } of edits) checkSpan(text, span, "a rename");
  if (parsed.kind === "invalid") return;
  const renamed = parsePipeline(edited(text, edits), "a.yaml");
  must(renamed.kind === "valid", "a good file with a renamed resource is good", () => ({
    text: edited(text, edits),
    renamed,
    edits,
  }));
  const expected = parsed.pipeline.resources
    .map((other) => (other.name === resource.name ? name : other.name))
    .toSorted();
  must(
    isDeepStrictEqual(renamed.pipeline.resources.map((other) => other.name).toSorted(), expected),
    "a rename gives the resource its name",
    () => renamed,
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
    const fix = correction(text, span, problem.message);
    if (fix === undefined) continue;
    checkSpan(text, fix.span, "a correction");
    must(fix.text !== text.slice(fix.span.start, fix.span.end), "a correction changes something", () => fix);
    const after = parsePipeline(edited(text, [fix]), "a.yaml");
    const stays =
      after.kind === "invalid" &&
      after.problems.some(
        ({ line, column, message }) =>
          line === problem.line && column === problem.column && message === problem.message,
      );
    must(!stays, "a correction mends the problem that it is for", () => ({ problem, fix, after }));
  }
}

function edited(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((one, other) => other.span.start - one.span.start)
    .reduce(
      (before, { span, text: put }) => before.slice(0, span.start) + put + before.slice(span.end),
      text,
    );
}

function checkSpan(text: string, { start, end }: Span, what: string): void {
  must(0 <= start && start <= end && end <= text.length, `${what} is inside the text`, () => ({
    start,
    end,
    length: text.length,
  }));
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
