import type { TextDocument } from "vscode";
import { type Outline, outlineOf } from "../../pipeline/editing/outline.ts";
import { type ParsedPipeline, parsePipeline } from "../../pipeline/parsePipeline.ts";

/** A text of a pipeline file with what is known of it. */
export interface Analysis {
  readonly text: string;
  readonly outline: Outline;
  readonly parsed: ParsedPipeline;
}

/** What is known of each open document, found out once for each of its versions. */
export class Analyses {
  readonly #known = new WeakMap<TextDocument, { readonly version: number; readonly analysis: Analysis }>();

  of(document: TextDocument): Analysis {
    const known = this.#known.get(document);
    if (known?.version === document.version) return known.analysis;
    const analysis = analyse(document.getText(), document.uri.path);
    this.#known.set(document, { version: document.version, analysis });
    return analysis;
  }
}

export function analyse(written: string, path: string): Analysis {
  // The editor's own texts have no byte-order mark, and problems don't count it.
  const text = written.replace(/^\uFEFF/, "");
  return { text, outline: outlineOf(text), parsed: parsePipeline(text, path) };
}
