import type { Expr } from "@actions/expressions/ast";
import { ErrorType, ExpressionError, MAX_EXPRESSION_LENGTH } from "@actions/expressions/errors";
import { TokenType } from "@actions/expressions/lexer";
import { Parser } from "@actions/expressions/parser";
import { type Invalid, splitText, type Variable, type Words } from "../file/textPieces.ts";
import { each, quoted, suggestion } from "../mistakes/problem.ts";
import { everyResultField, resultFields } from "../types/resultFields.ts";
import {
  convertTree,
  Mistake,
  type PlacedToken,
  problemOfSymbol,
  readTokens,
  tooDeep,
} from "./convertTree.ts";
import type { Expression } from "./expression.ts";
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

export type ParsedExpression = { readonly kind: "valid"; readonly expression: Expression } | Invalid;

/** A piece of a text, ready to be filled in. `at` is where the expression's own text begins in the text. */
export type ParsedPiece =
  | Words
  | Variable
  | { readonly kind: "expression"; readonly expression: Expression; readonly at: number };

export type ParsedText = { readonly kind: "valid"; readonly pieces: readonly ParsedPiece[] } | Invalid;

/** @param known the contexts that the text can use. */
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
 * @param known the contexts that it can use.
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

/** Checks the names of contexts and functions, whose case counts: the parser would take `constructor('a')` and `EnV.A`. */
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
      const hint = hintOf(name) || suggestion(name, names) || `; the functions are ${names.join(", ")}`;
      throw new Mistake(`there is no function \`${quoted(name)}\`${hint}`, placed);
    }
    if (!isContextName(name) || !known.includes(name))
      throw new Mistake(problemOfContext(name, known), placed);
    const isRead = isAfter(1, TokenType.DOT, TokenType.LEFT_BRACKET) && !isAfter(2, TokenType.STAR);
    if (name === "env" && !isRead) throw new Mistake("`env` is no value itself; write `env.NAME`", placed);
  });
}

/** What other tools have, and what to write here instead. */
const elsewhere: Readonly<Record<string, string>> = {
  and: "write `&&`",
  or: "write `||`",
  not: "write `!`",
  eq: "write `==`",
  ne: "write `!=`",
  ShouldEqual: "write `==`",
  ShouldNotEqual: "write `!=`",
  matches: "write `match(text, '/…/')`",
  ShouldContainSubstring: "write `contains(text, part)`",
  in: "write `contains(list, item)`",
  ...each("len size count", "did you mean `length`?"),
  ...each("always success failure cancelled", "what runs however a run ends stands in `finally`"),
  secrets: "did you mean `env`?",
  vars: "did you mean `inputs`?",
  ...each("current response result", "did you mean `this`?"),
  matrix: "did you mean `each`?",
  needs: "did you mean `steps`?",
  ...each("github gitlab runner job", "what a CI system says is in `env`, such as `env.GITHUB_SHA`"),
};

function hintOf(name: string): string {
  return Object.hasOwn(elsewhere, name) ? `; ${elsewhere[name]}` : "";
}

function problemOfContext(name: string, known: readonly ContextName[]): string {
  const shown = `\`${quoted(name)}\``;
  if (isContextName(name)) {
    const { where } = contexts[name];
    return `${shown} ${where === undefined ? `can't be used here; ${known.join(", ")} can` : `is there only ${where}`}`;
  }
  if (isFunctionName(name)) return `\`${name}\` is a function: \`${signatureOf(name)}\``;
  if (known.includes("this") && isResultField(name))
    return `there is no ${shown}; did you mean \`this.${name}\`?`;
  const paths = `a path begins with ${known.join(", ")}`;
  return `there is no ${shown}${hintOf(name) || suggestion(name, known) || `; a text is written \`'${quoted(name)}'\`, and ${paths}`}`;
}

function isResultField(name: string): boolean {
  return [everyResultField, ...Object.values(resultFields)].some((fields) => Object.hasOwn(fields, name));
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
  // Unlike its type says, the parser returns no tree for an empty expression.
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
