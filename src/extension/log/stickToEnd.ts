import type { TextDocument, TextEditor } from "vscode";

/** A reader's position in a growing document. Lines count from 0. */
export interface ReaderPosition {
  readonly isAtEnd: boolean;
  /** The first visible line. */
  readonly first: number;
}

interface View {
  readonly first: number;
  readonly last: number;
  readonly lineCount: number;
}

/**
 * The reader's position after a scroll. The document may have grown below: a reader at the end who hasn't scrolled up still
 * counts as at the end.
 */
export function movedReader(
  before: ReaderPosition | undefined,
  { first, last, lineCount }: View,
): ReaderPosition {
  const sees = last >= lineCount - 2;
  const wentUp = before !== undefined && first < before.first;
  return { isAtEnd: sees || (before?.isAtEnd === true && !wentUp), first };
}

/** Keeps readers at the end of a growing document there, and doesn't move any others. */
export class StickToEnd {
  readonly #places = new WeakMap<TextEditor, ReaderPosition>();
  readonly #seen = new WeakSet<TextDocument>();
  /** Documents that were last read at their end. */
  readonly #leftAtEnd = new WeakSet<TextDocument>();

  goToEnd(editor: TextEditor): void {
    this.#places.set(editor, { isAtEnd: true, first: 0 });
    showEnd(editor);
  }

  /** Called when an editor shows a document: at its end if it was left there, or if it grows and is shown for the first time. */
  appeared(editor: TextEditor, isGrowing: boolean): void {
    const { document } = editor;
    const isNew = !this.#seen.has(document);
    this.#seen.add(document);
    if (!this.#places.has(editor) && (this.#leftAtEnd.has(document) || (isNew && isGrowing)))
      this.goToEnd(editor);
  }

  grown(editor: TextEditor): void {
    if (this.#places.get(editor)?.isAtEnd === true) showEnd(editor);
  }

  scrolled(editor: TextEditor): void {
    const { document, visibleRanges } = editor;
    const [first, last] = [visibleRanges[0], visibleRanges.at(-1)];
    if (first === undefined || last === undefined) return;
    const view = { first: first.start.line, last: last.end.line, lineCount: document.lineCount };
    const place = movedReader(this.#places.get(editor), view);
    this.#places.set(editor, place);
    if (place.isAtEnd) this.#leftAtEnd.add(document);
    else this.#leftAtEnd.delete(document);
  }
}

function showEnd(editor: TextEditor): void {
  editor.revealRange(editor.document.lineAt(editor.document.lineCount - 1).range);
}
