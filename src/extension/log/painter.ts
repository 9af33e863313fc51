import type { Disposable, Range, TextDocument, TextEditor, TextEditorDecorationType } from "vscode";
import type { LogSnapshot } from "./logSnapshot.ts";
import { type LookKey, lineKey, lookKeys } from "./lookKeys.ts";

export interface PainterDeps {
  readonly decorationType: (key: LookKey) => TextEditorDecorationType;
  readonly range: (startLine: number, start: number, endLine: number, end: number) => Range;
  /** What a document shows; undefined for no log's, and while what is known of it is of another moment. */
  readonly snapshotOf: (document: TextDocument) => LogSnapshot | undefined;
}

/** Lines beyond those in view that are painted as well, so that a reader who scrolls sees no plain text. */
const margin = 80;

/** Gives the lines in view their colours. It costs what is in view, however long the log is. */
export class Painter implements Disposable {
  readonly #deps: PainterDeps;
  readonly #types = new Map<LookKey, TextEditorDecorationType>();
  readonly #painted = new WeakMap<TextEditor, Set<LookKey>>();

  constructor(deps: PainterDeps) {
    this.#deps = deps;
  }

  paint(editor: TextEditor): void {
    const snapshot = this.#deps.snapshotOf(editor.document);
    if (snapshot === undefined) return;
    const ranges = new Map<LookKey, Range[]>();
    const put = (key: LookKey, line: number, start: number, end: number) => {
      const range = this.#deps.range(line, start, line, end);
      const found = ranges.get(key);
      if (found === undefined) ranges.set(key, [range]);
      else found.push(range);
    };
    for (const { start, end } of inView(editor, snapshot.lineCount)) {
      for (const [number, line] of snapshot.lines(start, end)) {
        const whole = lineKey(line);
        if (whole !== undefined) put(whole, number, 0, line.text.length);
        for (const look of line.looks) {
          for (const key of lookKeys(look.style)) put(key, number, look.start, look.end);
        }
      }
    }
    const before = this.#painted.get(editor) ?? new Set();
    for (const key of before) if (!ranges.has(key)) editor.setDecorations(this.#type(key), []);
    for (const [key, found] of ranges) editor.setDecorations(this.#type(key), found);
    this.#painted.set(editor, new Set(ranges.keys()));
  }

  dispose(): void {
    for (const type of this.#types.values()) type.dispose();
    this.#types.clear();
  }

  #type(key: LookKey): TextEditorDecorationType {
    const found = this.#types.get(key) ?? this.#deps.decorationType(key);
    this.#types.set(key, found);
    return found;
  }
}

/** The lines in view and around it, each once, also where folded lines lie between. */
function inView(editor: TextEditor, lineCount: number): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = [];
  for (const { start, end } of editor.visibleRanges) {
    const last = spans.at(-1);
    const from = Math.max(0, start.line - margin);
    const to = Math.min(lineCount - 1, end.line + margin);
    if (last !== undefined && from <= last.end + 1) last.end = Math.max(last.end, to);
    else spans.push({ start: from, end: to });
  }
  return spans;
}
