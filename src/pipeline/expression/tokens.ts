import { MAX_PARSER_DEPTH } from "@actions/expressions/errors";
import { Lexer, type Token } from "@actions/expressions/lexer";
import { quoted } from "../mistakes/problem.ts";
import type { Position } from "./expression.ts";

/** Thrown within the parser alone: what is wrong, and where. */
export class Mistake extends Error {
  readonly position: Position;

  constructor(problem: string, { at, length }: Position) {
    super(problem);
    this.position = { at, length };
  }
}

export interface PlacedToken extends Position {
  readonly token: Token;
}

/** The lexer's tokens with their offsets; its own columns are wrong behind a line break within a text. */
export function readTokens(text: string): readonly PlacedToken[] {
  const lexer = new Lexer(text);
  let at = 0;
  try {
    return lexer.lex().tokens.map((token) => {
      while (" \r\t\n".includes(text[at] ?? "none")) at += 1;
      const placed = { token, at, length: token.lexeme.length };
      at += token.lexeme.length;
      return placed;
    });
  } catch {
    // Its errors are plain, but it stops at the symbol.
    const start = Number(Reflect.get(lexer, "start"));
    const symbol = text.slice(start, Number(Reflect.get(lexer, "offset")));
    throw new Mistake(problemOfSymbol(symbol, true), { at: start, length: symbol.length });
  }
}

/** @param isForeign whether the lexer doesn't know the symbol. */
export function problemOfSymbol(symbol: string, isForeign: boolean): string {
  const shown = `\`${quoted(symbol)}\``;
  if (isForeign && symbol.startsWith("'")) {
    return "the text that begins here has no closing `'`; write `''` for a `'` within it";
  }
  if (symbol.startsWith('"')) return "a text stands between single quotes, such as `'paid'`";
  if (symbol === "=~") return `${shown} can't stand here; write \`match(text, '/…/')\``;
  if (symbol === "[") return `${shown} can't stand here; a list is written \`fromJSON('["eu", "us"]')\``;
  if (symbol.startsWith("=")) return `${shown} can't stand here; write \`==\` to compare`;
  if (/^[&|]/.test(symbol) && isForeign) return `${shown} can't stand here; write \`&&\` or \`||\``;
  if (/^[-+*/%]/.test(symbol))
    return `${shown} can't stand here; there is no arithmetic, which a cli step can do`;
  if (isForeign && /^[\p{L}\d]/u.test(symbol)) {
    return `${shown} isn't a name or a number; a member with such a name is written \`['…']\``;
  }
  return `${shown} can't stand here`;
}

export function tooDeep(position: Position): Mistake {
  return new Mistake(`the expression is nested more than ${MAX_PARSER_DEPTH} deep`, position);
}
