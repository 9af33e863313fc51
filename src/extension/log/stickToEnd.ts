import type { TextDocument, TextEditor } from "vscode";

/** What is known of where a reader is in a document that grows. Lines count from 0. */
export interface ReaderPosition {
  readonly isAtEnd: boolean;
  /** The first line in view when last looked. */
  readonly first: number;
}

interface View {
  readonly first: number;
  readonly last: number;
  readonly lineCount: number;
}

/**
 * Where a reader is after the view has changed. The document may have grown below the view since: so long as the reader has
 * not gone up, one who was at the end still is.
 */
export function movedReader(
  before: ReaderPosition | undefined,
  { first, last, lineCount }: View,
): ReaderPosition {
  const sees = last >= lineCount - 2;
  const wentUp = before !== undefined && first < before.first;
  return { isAtEnd: sees || (before?.isAtEnd === true && !wentUp), first };
}

/** Keeps readers who are at the end of a document there while it grows, and lets all others be. */
export class StickToEnd {
  readonly #places = new WeakMap<TextEditor, ReaderPosition>();
  /** Documents whose reader was at the end when last seen. */
  readonly #leftAtEnd = new WeakSet<TextDocument>();

  /** Takes a reader to the end. */
  goToEnd(editor: TextEditor): void {
    this.#places.set(editor, { isAtEnd: true, first: 0 });
    showEnd(editor);
  }

  /** An editor that comes back to the screen: one whose reader was at the end goes on following it. */
  appeared(editor: TextEditor): void {
    if (!this.#places.has(editor) && this.#leftAtEnd.has(editor.document)) this.goToEnd(editor);
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
