import assert from "node:assert/strict";
import type {
  DecorationRenderOptions,
  Range,
  TextDocument,
  TextEditor,
  TextEditorDecorationType,
} from "vscode";
import { LogText } from "../../../src/extension/log/logText.ts";
import { linePainter } from "../../../src/extension/log/painter.ts";

const at = "2026-03-03T10:00:00Z";
const run = {
  runId: "run_1",
  pipeline: "lamps",
  project: "shop",
  status: "running",
  actor: "key_1",
  runner: "here",
  createdAt: at,
  timeLimitSeconds: 30,
};

/** What the tests call a decoration by. */
function nameOf({ color, fontWeight, isWholeLine, light }: DecorationRenderOptions): string {
  if (isWholeLine) return "stderr";
  return fontWeight?.toString() ?? JSON.stringify(color ?? light?.color ?? "");
}

/** A painter, and an editor that keeps what is painted in it. */
function studio(lines: number) {
  const text = new LogText(run, { apiKeys: new Set(), timeText: (instant) => instant });
  const output = Array.from(
    { length: lines },
    (_, line) => `\u001b[3${line % 8}mline ${line}\u001b[0m\n`,
  ).join("");
  text.add({ sequence: 1, at, stepIndex: 0, stream: "stdout", text: output });
  text.add({ sequence: 2, at, stepIndex: 0, stream: "stderr", text: "careful\n" });
  const snapshot = text.snapshot();
  const document = {} as TextDocument;
  const painted = new Map<string, readonly Range[]>();
  const disposed: string[] = [];
  const view = { first: 0, last: 40 };
  const editor = {
    document,
    get visibleRanges() {
      return [{ start: { line: view.first }, end: { line: view.last } }];
    },
    setDecorations: (type: { key: string }, ranges: readonly Range[]) => painted.set(type.key, ranges),
  } as unknown as TextEditor;
  const painter = linePainter({
    decorationType: (options) => {
      const key = nameOf(options);
      return { key, dispose: () => disposed.push(key) } as unknown as TextEditorDecorationType;
    },
    color: (id) => ({ id }),
    range: (startLine, start, endLine, end) => ({ startLine, start, endLine, end }) as unknown as Range,
    snapshotOf: (asked) => (asked === document ? snapshot : undefined),
  });
  return { painter, editor, painted, disposed, view, snapshot };
}

describe("the colours of a log's document", () => {
  it("are painted where the reader looks and in the step's pinned line, and cost no more for a long log", () => {
    const { painter, editor, painted, view, snapshot } = studio(100_000);
    painter.paint(editor);
    const first = painted.get('{"id":"terminal.ansiRed"}') ?? [];
    assert.deepEqual(first[0], { startLine: 6, start: 0, endLine: 6, end: 6 });
    view.first = 50_000;
    view.last = 50_040;
    painter.paint(editor);
    const all = [...painted.values()].flat() as unknown as { startLine: number }[];
    assert(all.length < 300, String(all.length));
    const far = all.filter(({ startLine }) => startLine < 49_900 || startLine > 50_140);
    assert.deepEqual([...new Set(far.map(({ startLine }) => startLine))], [snapshot.parts[0]?.firstLine]);
  });

  it("tell standard error apart, and go where nothing has them any more", () => {
    const { painter, editor, painted, view, snapshot } = studio(1_000);
    painter.paint(editor);
    assert.equal(painted.get("stderr"), undefined);
    view.first = snapshot.lineCount - 20;
    view.last = snapshot.lineCount - 1;
    painter.paint(editor);
    assert.equal(painted.get("stderr")?.length, 1);
    view.first = 0;
    view.last = 40;
    painter.paint(editor);
    assert.deepEqual(painted.get("stderr"), []);
  });

  it("leave nothing behind", () => {
    const { painter, editor, painted, disposed } = studio(10);
    painter.paint(editor);
    painter.dispose();
    assert.deepEqual(disposed.sort(), [...painted.keys()].sort());
  });
});
