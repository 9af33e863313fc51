/**
 * A piece of a text of the pipeline file: words, an environment variable, or the source of another expression.
 * `at` is where the source begins in the text, in UTF-16 units.
 */
export type TextPiece = Words | Variable | Source;

export interface Source {
  readonly kind: "source";
  readonly source: string;
  readonly at: number;
  /** The scope whose names it reads, if it isn't that of the text: see `marked`. */
  readonly scope?: number;
}

export interface Words {
  readonly kind: "words";
  readonly words: string;
}

export interface Variable {
  readonly kind: "variable";
  readonly name: string;
  readonly at: number;
}

/** What is wrong with a text or an expression, and where: an offset and a length in UTF-16 units. */
export interface Invalid {
  readonly kind: "invalid";
  readonly problem: string;
  readonly at: number;
  readonly length: number;
}

type SplitText = { readonly kind: "valid"; readonly pieces: readonly TextPiece[] } | Invalid;

const opening = "${{";
const closing = "}}";
const variable = /^\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*$/;

/** Whether a text has an expression, or what was meant to be one. */
export function hasExpression(text: string): boolean {
  return /(?<!\$)\$\{\{/.test(text);
}

/**
 * Splits a text at its `${{ … }}`; `$${{` stands for `${{` itself. Without the expressions' parser: a text whose pieces
 * are words and variables needs none.
 */
export function splitText(text: string): SplitText {
  const pieces: TextPiece[] = [];
  let position = 0;
  for (;;) {
    const start = text.indexOf(opening, position);
    if (start === -1) break;
    if (text[start - 1] === "$") {
      pieces.push({ kind: "words", words: text.slice(position, start - 1) + opening });
      position = start + opening.length;
      continue;
    }
    const at = start + opening.length;
    const end = endOfExpression(text, at);
    if (end === -1) {
      const problem = `\`${opening}\` has no closing \`${closing}\`; write \`$${opening}\` for \`${opening}\` itself`;
      return { kind: "invalid", problem, at: start, length: opening.length };
    }
    if (start > position) pieces.push({ kind: "words", words: text.slice(position, start) });
    const source = text.slice(at, end);
    const name = variable.exec(source)?.[1];
    const [mark, scope] = scopeMark.exec(source) ?? [];
    if (name !== undefined) pieces.push({ kind: "variable", name, at });
    else if (mark === undefined) pieces.push({ kind: "source", source, at });
    else pieces.push({ kind: "source", source: source.slice(mark.length), at, scope: Number(scope) });
    position = end + closing.length;
  }
  if (position < text.length) pieces.push({ kind: "words", words: text.slice(position) });
  return { kind: "valid", pieces };
}

/** The only piece of a text; undefined if it has several. A YAML block's line end after an expression doesn't count. */
export function onlyPiece([first, last, ...more]: readonly TextPiece[]): TextPiece | undefined {
  const isEnd = last?.kind === "words" && last.words === "\n" && first?.kind !== "words" && more.length === 0;
  return last === undefined || isEnd ? first : undefined;
}

/** No expression begins like this, and the parser refuses it in a pipeline file. */
const scopeMark = /^@(\d+) /;

/**
 * A text of one file that becomes a part of another file's step: its expressions still read the names of their own.
 * @param scope 0 for the file that is run, else 1 more than the index of its part.
 */
export function marked(text: string, scope: number): string {
  const split = splitText(text);
  if (split.kind === "invalid") return text;
  return split.pieces
    .map((piece) => {
      if (piece.kind === "words") return piece.words.replaceAll(opening, `$${opening}`);
      if (piece.kind === "variable") return `${opening} env.${piece.name} ${closing}`;
      return `${opening}${markedSource({ scope, ...piece })}${closing}`;
    })
    .join("");
}

/** The source as it is written between the braces. */
export function markedSource({ scope, source }: Source): string {
  return scope === undefined ? source : `@${scope} ${source}`;
}

/** Where the closing braces are; such braces may also be within a quoted text. @returns -1 when there are none. */
function endOfExpression(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    if (text[at] === "'") {
      const quote = text.indexOf("'", at + 1);
      if (quote === -1) return -1;
      at = quote;
    } else if (text.startsWith(closing, at)) {
      return at;
    }
    at += 1;
  }
  return -1;
}
