import { quoted } from "../mistakes/problem.ts";

/** A piece of a text of the pipeline file: literal text, or an environment variable. */
type TextPiece =
  | { readonly kind: "words"; readonly words: string }
  | { readonly kind: "variable"; readonly name: string };

/** A text split at its `${{ env.NAME }}`, or the problem of an invalid reference. */
type SplitText =
  | { readonly kind: "valid"; readonly pieces: readonly TextPiece[] }
  | { readonly kind: "invalid"; readonly problem: string };

const opening = "${{";
const closing = "}}";
const reference = /^env\.([A-Za-z_][A-Za-z0-9_]*)$/;

/** Splits a text at its references. The parser checks them with it, and the runner inserts the values. */
export function splitReferences(text: string): SplitText {
  const pieces: TextPiece[] = [];
  let position = 0;
  for (;;) {
    const start = text.indexOf(opening, position);
    if (start === -1) break;
    if (text[start - 1] === "$") {
      // `$${{` stands for `${{` itself.
      pieces.push({ kind: "words", words: text.slice(position, start - 1) + opening });
      position = start + opening.length;
      continue;
    }
    const end = text.indexOf(closing, start);
    if (end === -1) return { kind: "invalid", problem: `\`${opening}\` has no closing \`${closing}\`` };
    const inside = text.slice(start + opening.length, end).trim();
    const name = reference.exec(inside)?.[1];
    if (name === undefined) {
      return {
        kind: "invalid",
        problem: `\`${quoted(inside)}\` can't be filled in; only environment variables can: \`\${{ env.NAME }}\`; write \`$\${{\` for \`\${{\` itself`,
      };
    }
    if (start > position) pieces.push({ kind: "words", words: text.slice(position, start) });
    pieces.push({ kind: "variable", name });
    position = end + closing.length;
  }
  if (position < text.length) pieces.push({ kind: "words", words: text.slice(position) });
  return { kind: "valid", pieces };
}

export function hasReference(text: string): boolean {
  return /(?<!\$)\$\{\{/.test(text);
}
