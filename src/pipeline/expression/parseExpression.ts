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
import {
  ErrorType,
  ExpressionError,
  MAX_EXPRESSION_LENGTH,
  MAX_PARSER_DEPTH,
} from "@actions/expressions/errors";
import { Lexer, type Token, TokenType } from "@actions/expressions/lexer";
import { Parser } from "@actions/expressions/parser";
import { type Invalid, splitText, type Variable, type Words } from "../file/textPieces.ts";
import { readTextExpectation } from "../file/values.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";
import type { Expression, Node, Operator } from "./expression.ts";
import {
  type ContextName,
  contexts,
  type FunctionName,
  functions,
  isContextName,
  isFunctionName,
  parametersOf,
  signatureOf,
} from "./names.ts";
import { type Json, parseNumber } from "./value.ts";

export type ParsedExpression = { readonly kind: "valid"; readonly expression: Expression } | Invalid;

/** A piece of a text, ready to be filled in. `at` is where the expression's own text begins in the text. */
export type ParsedPiece =
  | Words
  | Variable
  | { readonly kind: "expression"; readonly expression: Expression; readonly at: number };

export type ParsedText = { readonly kind: "valid"; readonly pieces: readonly ParsedPiece[] } | Invalid;

/** @param known the contexts that are there where the text stands. */
export function parseText(text: string, known: readonly ContextName[]): ParsedText {
  const split = splitText(text);
  if (split.kind === "invalid") return split;
  const pieces: ParsedPiece[] = [];
  for (const piece of split.pieces) {
    if (piece.kind === "source") {
      const parsed = parseExpression(piece.source, known);
      if (parsed.kind === "invalid") return { ...parsed, at: piece.at + parsed.at };
      pieces.push({ kind: "expression", expression: parsed.expression, at: piece.at });
    } else {
      pieces.push(piece);
    }
  }
  return { kind: "valid", pieces };
}

/**
 * Parses an expression without braces around it.
 * @param known the contexts that are there where it stands.
 */
export function parseExpression(text: string, known: readonly ContextName[]): ParsedExpression {
  try {
    if (text.length > MAX_EXPRESSION_LENGTH) {
      const problem = `an expression has at most ${MAX_EXPRESSION_LENGTH} characters, and this one ${text.length}`;
      throw new Mistake(problem, { at: 0, length: text.length });
    }
    const tokens = readTokens(text);
    checkNames(tokens, known);
    return { kind: "valid", expression: { text, root: convertTree(parseTokens(tokens, text), tokens) } };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { kind: "invalid", problem: error.message, ...error.position };
  }
}

interface Position {
  readonly at: number;
  readonly length: number;
}

class Mistake extends Error {
  readonly position: Position;

  constructor(problem: string, { at, length }: Position) {
    super(problem);
    this.position = { at, length };
  }
}

interface PlacedToken extends Position {
  readonly token: Token;
}

/** The lexer's tokens with their offsets; its own columns are wrong behind a line break within a text. */
function readTokens(text: string): readonly PlacedToken[] {
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
function problemOfSymbol(symbol: string, isForeign: boolean): string {
  const shown = `\`${quoted(symbol)}\``;
  if (isForeign && symbol.startsWith("'")) {
    return "the text that begins here has no closing `'`; write `''` for a `'` within it";
  }
  if (symbol.startsWith('"')) return "a text stands between single quotes, such as `'paid'`";
  if (symbol.startsWith("=")) return `${shown} can't stand here; write \`==\` to compare`;
  if (/^[&|]/.test(symbol) && isForeign) return `${shown} can't stand here; write \`&&\` or \`||\``;
  if (/^[-+*/%]/.test(symbol))
    return `${shown} can't stand here; there is no arithmetic, which a cli step can do`;
  if (isForeign && /^[\p{L}\d]/u.test(symbol)) {
    return `${shown} isn't a name or a number; a member with such a name is written \`['…']\``;
  }
  return `${shown} can't stand here`;
}

/** Contexts and functions, whose letters' case counts; the parser would take `constructor('a')` and `EnV.A`. */
function checkNames(tokens: readonly PlacedToken[], known: readonly ContextName[]): void {
  tokens.forEach((placed, index) => {
    const { token } = placed;
    const isAfter = (offset: number, ...types: readonly TokenType[]) =>
      types.includes(tokens[index + offset]?.token.type ?? TokenType.UNKNOWN);
    if (token.type === TokenType.COMMA && isAfter(1, TokenType.RIGHT_PAREN)) {
      throw new Mistake("nothing follows this `,`", placed);
    }
    if (token.type !== TokenType.IDENTIFIER || isAfter(-1, TokenType.DOT)) return;
    const name = token.lexeme;
    if (isAfter(1, TokenType.LEFT_PAREN)) {
      if (isFunctionName(name)) return;
      const names = Object.keys(functions);
      const hint = suggestion(name, names) || `; the functions are ${names.join(", ")}`;
      throw new Mistake(`there is no function \`${quoted(name)}\`${hint}`, placed);
    }
    if (!isContextName(name) || !known.includes(name))
      throw new Mistake(problemOfContext(name, known), placed);
    const isRead = isAfter(1, TokenType.DOT, TokenType.LEFT_BRACKET) && !isAfter(2, TokenType.STAR);
    if (name === "env" && !isRead) throw new Mistake("`env` is no value itself; write `env.NAME`", placed);
  });
}

const words: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!" };

function problemOfContext(name: string, known: readonly ContextName[]): string {
  const shown = `\`${quoted(name)}\``;
  if (isContextName(name)) {
    const { where } = contexts[name];
    return `${shown} ${where === undefined ? `can't be used here; ${known.join(", ")} can` : `is there only ${where}`}`;
  }
  if (Object.hasOwn(words, name)) return `${shown} can't stand here; write \`${words[name]}\``;
  const paths = `a path begins with ${known.join(", ")}`;
  return `there is no ${shown}${suggestion(name, known) || `; a text is written \`'${quoted(name)}'\`, and ${paths}`}`;
}

function parseTokens(tokens: readonly PlacedToken[], text: string): Expr {
  const infos = Object.keys(functions).flatMap((name) =>
    isFunctionName(name) ? [{ name, ...arityOf(name) }] : [],
  );
  let tree: Expr | undefined;
  try {
    tree = new Parser(
      tokens.map(({ token }) => token),
      Object.keys(contexts),
      infos,
    ).parse();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const end = { at: text.length, length: 0 };
    const found = tokens.find(({ token }) => token.range.start === error.pos);
    const name = found?.token.lexeme ?? "";
    const type: unknown = Reflect.get(error, "typ");
    const isEnd = type === ErrorType.ErrorUnexpectedEndOfExpression;
    switch (type) {
      case ErrorType.ErrorTooFewParameters:
      case ErrorType.ErrorTooManyParameters:
        if (!isFunctionName(name)) break;
        throw new Mistake(`\`${name}\` takes ${describeArity(name)}: \`${signatureOf(name)}\``, found ?? end);
      case ErrorType.ErrorExceededMaxDepth:
        throw tooDeep(found ?? end);
    }
    if (found === undefined || found.token.type === TokenType.EOF || isEnd) {
      throw new Mistake("the expression isn't complete; a value, a `)` or a `]` is missing", end);
    }
    throw new Mistake(problemOfToken(found, tokens), found);
  }
  // What its types don't say: no expression, no tree.
  if (tree === undefined) throw new Mistake("the expression is empty", { at: 0, length: text.length });
  return tree;
}

function problemOfToken(found: PlacedToken, tokens: readonly PlacedToken[]): string {
  const before = tokens[tokens.indexOf(found) - 1]?.token.type;
  if (found.token.type === TokenType.NUMBER && before === TokenType.DOT) {
    return `an item of a list is written \`[${quoted(found.token.lexeme)}]\``;
  }
  return problemOfSymbol(found.token.lexeme, false);
}

function arityOf(name: FunctionName): { readonly minArgs: number; readonly maxArgs: number } {
  const parameters = parametersOf(name);
  return {
    minArgs: parameters.filter((parameter) => !/[?…]$/.test(parameter)).length,
    maxArgs: parameters.some((parameter) => parameter.endsWith("…")) ? 255 : parameters.length,
  };
}

function describeArity(name: FunctionName): string {
  const { minArgs, maxArgs } = arityOf(name);
  if (maxArgs === 0) return "no arguments";
  const least = minArgs === maxArgs ? "" : `${minArgs} to `;
  return `${least}${maxArgs} argument${maxArgs === 1 ? "" : "s"}`;
}

function tooDeep(position: Position): Mistake {
  return new Mistake(`the expression is nested more than ${MAX_PARSER_DEPTH} deep`, position);
}

/** A converted node, with the first and the last of its tokens: parentheses count, which the node itself hasn't. */
interface Converted {
  readonly node: Node;
  readonly first: number;
  readonly last: number;
}

/** Our own tree, whose nodes know their positions. The parser bounds the depth, but not that of `a == b == c`. */
function convertTree(tree: Expr, tokens: readonly PlacedToken[]): Node {
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
    // `(items.*.id)[0]` is the first of the ids: parentheses end what is of each item.
    const isEach = expr instanceof IndexAccess && (of.kind === "all" || (of.kind === "member" && of.isEach));
    if (index instanceof Star) {
      return made(first, before + 2 + closing, (position) => ({ kind: "all", of, isEach, ...position }));
    }
    const { node: key, last } = inner(index);
    return made(first, last + closing, (position) => ({ kind: "member", of, key, isEach, ...position }));
  }
}

/** What the parser took as a name or an operator, which it has checked. */
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

/** A pattern stands in the file, so that none comes from outside, and it is checked before the run. */
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
