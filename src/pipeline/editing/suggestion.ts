import type { Span } from "./tree.ts";

/** Something to choose while typing. */
export interface Suggestion {
  readonly kind: "field" | "value" | "resource" | "variable" | "whole";
  readonly label: string;
  /** Shown beside the label. */
  readonly detail: string | undefined;
  /** Markdown. */
  readonly documentation: string | undefined;
  /** A snippet, with the line breaks and the indentation that it needs where it goes. */
  readonly snippet: string;
  readonly replaces: Span;
  /** What is compared with what was typed, where that isn't the label. */
  readonly typedAs: string | undefined;
  /** Whether what comes next is to be suggested at once. */
  readonly goesOn: boolean;
}

/** A text as a snippet writes it. */
export function escapeSnippet(text: string): string {
  return text.replace(/[\\$}]/g, "\\$&");
}
