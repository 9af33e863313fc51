import {
  Binary,
  ContextAccess,
  type Expr,
  FunctionCall,
  Grouping,
  IndexAccess,
  Literal,
  Logical,
  Star,
  Unary,
} from "@actions/expressions/ast";
import { MAX_PARSER_DEPTH } from "@actions/expressions/errors";
import { Lexer, type Token, TokenType } from "@actions/expressions/lexer";
import { readTextExpectation } from "../file/expectation.ts";
import { quoted } from "../mistakes/problem.ts";
import type { Node, Operator, Position } from "./expression.ts";
import { isContextName, isFunctionName } from "./names.ts";
import { type Json, parseNumber } from "./value.ts";

/** Makes our own tree, whose nodes know their positions. The parser limits the depth, except that of `a == b == c`. */
export function convertTree(tree: Expr, tokens: readonly PlacedToken[]): Node {
  const indexes = new Map(tokens.map(({ token }, index) => [token, index]));
  const indexOf = (token: Token) => indexes.get(token) ?? 0;
  return convert(tree, 1).node;

  function made(first: number, last: number, node: (position: Position) => Node): Converted {
    const at = tokens[first]?.at ?? 0;
    const end = tokens[last];
    return { node: node({ at, length: (end?.at ?? 0) + (end?.length ?? 0) - at }), first, last };
  }

  function convert(expr: Expr, depth: number): Converted {
    if (depth > MAX_PARSER_DEPTH) throw tooDeep({ at: 0, length: tokens.at(-1)?.at ?? 0 });
    const inner = (part: Expr) => convert(part, depth + 1);
    if (expr instanceof Literal) {
      const index = indexOf(expr.token);
      return made(index, index, (position) => literal(expr.token, position));
    }
    if (expr instanceof ContextAccess) {
      const index = indexOf(expr.name);
      const name = checked(expr.name.lexeme, isContextName);
      return made(index, index, (position) => ({ kind: "context", name, ...position }));
    }
    if (expr instanceof Grouping) {
      const { node, first, last } = inner(expr.group);
      return { node, first: first - 1, last: last + 1 };
    }
    if (expr instanceof IndexAccess) return convertAccess(expr, inner);
    if (expr instanceof FunctionCall) {
      const first = indexOf(expr.functionName);
      const name = checked(expr.functionName.lexeme, isFunctionName);
      const parts = expr.args.map(inner);
      const args = parts.map(({ node }) => node);
      if (name === "match") checkPattern(args[1]);
      const last = (parts.at(-1)?.last ?? first + 1) + 1;
      return made(first, last, (position) => ({ kind: "call", name, args, ...position }));
    }
    if (expr instanceof Unary) {
      const { node: operand, last } = inner(expr.expr);
      return made(indexOf(expr.operator), last, (position) => ({ kind: "not", operand, ...position }));
    }
    if (expr instanceof Binary) {
      const operator = checked(expr.operator.lexeme, isOperator);
      const { node: left, first } = inner(expr.left);
      const { node: right, last } = inner(expr.right);
      return made(first, last, (position) => ({ kind: "compare", operator, left, right, ...position }));
    }
    if (!(expr instanceof Logical)) throw new Error("the parser made a node of a kind that isn't known");
    const operator = checked(expr.operator.lexeme, isLogical);
    const parts = expr.args.map(inner);
    const operands = parts.map(({ node }) => node);
    return made(parts[0]?.first ?? 0, parts.at(-1)?.last ?? 0, (position) => ({
      kind: "logical",
      operator,
      operands,
      ...position,
    }));
  }

  function convertAccess({ expr, index }: IndexAccess, inner: (part: Expr) => Converted): Converted {
    const { node: of, first, last: before } = inner(expr);
    const closing = tokens[before + 1]?.token.type === TokenType.DOT ? 0 : 1;
    // `(items.*.id)[0]` is the first of the ids: parentheses end the access to each item.
    const isEach = expr instanceof IndexAccess && (of.kind === "all" || (of.kind === "member" && of.isEach));
    if (index instanceof Star) {
      return made(first, before + 2 + closing, (position) => ({ kind: "all", of, isEach, ...position }));
    }
    const { node: key, last } = inner(index);
    return made(first, last + closing, (position) => ({ kind: "member", of, key, isEach, ...position }));
  }
}

/** A converted node, with its first and its last token: those include parentheses, which the node itself doesn't have. */
interface Converted {
  readonly node: Node;
  readonly first: number;
  readonly last: number;
}

/** Narrows the type of a name or an operator, which the parser has checked. */
function checked<T extends string>(lexeme: string, isKnown: (lexeme: string) => lexeme is T): T {
  if (isKnown(lexeme)) return lexeme;
  throw new Error(`the parser made a node that isn't known: ${lexeme}`);
}

function isOperator(lexeme: string): lexeme is Operator {
  return ["==", "!=", "<", "<=", ">", ">="].includes(lexeme);
}

function isLogical(lexeme: string): lexeme is "&&" | "||" {
  return lexeme === "&&" || lexeme === "||";
}

/** What the token stands for. The lexer unescapes only the first `''` of a text, and has no exact whole numbers. */
function literal(token: Token, position: Position): Node {
  const made = (value: Json): Node => ({ kind: "literal", value, ...position });
  switch (token.type) {
    case TokenType.TRUE:
      return made(true);
    case TokenType.FALSE:
      return made(false);
    case TokenType.NULL:
      return made(null);
    case TokenType.STRING:
      return made(token.lexeme.slice(1, -1).replaceAll("''", "'"));
    case TokenType.NUMBER: {
      const value = parseNumber(token.lexeme);
      if (value === undefined) throw new Mistake(`JSON has no number \`${quoted(token.lexeme)}\``, position);
      return made(value);
    }
    default:
      return made(token.lexeme);
  }
}

/** A pattern has to be written in the file, so that none comes from outside and each is checked before the run. */
function checkPattern(pattern: Node | undefined): void {
  if (pattern === undefined) return;
  const read =
    pattern.kind === "literal" && typeof pattern.value === "string"
      ? readTextExpectation(pattern.value)
      : undefined;
  if (read?.kind === "invalid") throw new Mistake(read.problem, pattern);
  if (read?.expectation.kind !== "matches") {
    throw new Mistake("the pattern of `match` is written here, between slashes: `'/…/'`", pattern);
  }
}

/** Thrown only within the parser: what is wrong, and where. */
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

/** The lexer's tokens with their offsets; its own columns are wrong after a line break within a text. */
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
    // The lexer's errors have no position, but it stops at the symbol.
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
