import { callFunction, type Tools } from "./callFunction.ts";
import type { Expression, Member, Node, Operator } from "./expression.ts";
import type { ParsedPiece } from "./parseExpression.ts";
import {
  asText,
  checkNumber,
  ExpressionFault,
  equal,
  isList,
  isMap,
  isNumber,
  type Json,
  type JsonMap,
  kindOf,
  notJson,
  shorten,
  showValue,
} from "./value.ts";

/** The values that an expression's paths start from. A context that is left out isn't there. */
export interface Contexts {
  /** @returns undefined for a variable that isn't set. */
  readonly env: (name: string) => string | undefined;
  readonly inputs?: JsonMap;
  readonly steps?: JsonMap;
  readonly run?: JsonMap;
  readonly each?: JsonMap;
  readonly this?: JsonMap;
}

/**
 * The value of an expression. Nothing is converted, no case is ignored, and only own members are found.
 * @throws ExpressionFault when it has none.
 */
export function evaluate({ text, root }: Expression, contexts: Contexts, tools: Tools): Json {
  return new Evaluation(text, contexts, tools).value(root);
}

/**
 * Fills a text in: an expression that stands alone keeps its type, and within a text it becomes text, `null` too.
 * @throws ExpressionFault when an expression has no value.
 */
export function fill(pieces: readonly ParsedPiece[], contexts: Contexts, tools: Tools): Json {
  const filled = (piece: ParsedPiece): Json => {
    switch (piece.kind) {
      case "words":
        return piece.words;
      case "variable":
        return variable(piece.name, contexts);
      case "expression":
        return evaluate(piece.expression, contexts, tools);
    }
  };
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return filled(first);
  const work = new Work();
  const texts = pieces.map((piece) => {
    const text = asText(filled(piece));
    work.add(text.length);
    return text;
  });
  return texts.join("");
}

/** @throws ExpressionFault when it isn't set. */
function variable(name: string, { env }: Contexts): string {
  const value = env(name);
  if (value !== undefined) return value;
  throw new ExpressionFault(`env.${name} isn't there; the environment has no such variable`, true);
}

const mostWork = 10 * 1024 * 1024;

/** Limits the size of what one evaluation makes, since an expression could multiply it. */
class Work {
  #done = 0;

  /** @param size in characters, or what takes as much. */
  add(size: number): void {
    this.check(size);
    this.#done += size;
  }

  /** @throws ExpressionFault when there is no room for so much more. */
  check(size: number): void {
    if (this.#done + size <= mostWork) return;
    throw new ExpressionFault(`more than ${mostWork / 1024 / 1024} MB would be made, the most there may be`);
  }
}

/** One evaluation of an expression, which keeps each part's value for an explanation. */
class Evaluation {
  readonly tools: Tools;
  readonly work = new Work();
  readonly #text: string;
  readonly #contexts: Contexts;
  readonly #values = new Map<Node, Json>();

  constructor(text: string, contexts: Contexts, tools: Tools) {
    this.#text = text;
    this.#contexts = contexts;
    this.tools = tools;
  }

  /** @throws ExpressionFault when it has none. */
  value(node: Node): Json {
    const known = this.#values.get(node);
    if (known !== undefined) return known;
    const value = this.#evaluate(node);
    this.#values.set(node, value);
    return value;
  }

  /** @throws ExpressionFault for what is neither true nor false. */
  truth(node: Node, taker: string): boolean {
    const value = this.value(node);
    if (typeof value === "boolean") return value;
    throw new ExpressionFault(`${this.source(node)} is ${kindOf(value)}; ${taker} takes true and false only`);
  }

  /** @returns the fault, when the node's value isn't there. */
  missing(node: Node): ExpressionFault | undefined {
    try {
      this.value(node);
      return undefined;
    } catch (error) {
      if (error instanceof ExpressionFault && error.isMissing) return error;
      throw error;
    }
  }

  /** The node as the file writes it, on one line. */
  source({ at, length }: Node): string {
    return shorten(this.#text.slice(at, at + length).replace(/\s+/g, " "), this.tools.hide);
  }

  /** The values as a message shows them, of those nodes that have been evaluated. */
  shown(nodes: readonly Node[]): string {
    const known = nodes.filter((node) => this.#values.has(node));
    return known.map((node) => showValue(this.value(node), this.tools)).join(" and ");
  }

  #evaluate(node: Node): Json {
    switch (node.kind) {
      case "literal":
        return node.value;
      case "context": {
        const value = node.name === "env" ? undefined : this.#contexts[node.name];
        if (value === undefined) throw new ExpressionFault(`${node.name} isn't there`, true);
        return value;
      }
      case "member":
        return this.#member(node);
      case "all":
        return this.#all(node);
      case "call":
        return callFunction(node, this);
      case "not":
        return !this.truth(node.operand, "`!`");
      case "compare":
        return this.#compare(node.operator, node.left, node.right);
      case "logical": {
        const taker = `\`${node.operator}\``;
        return node.operator === "&&"
          ? node.operands.every((operand) => this.truth(operand, taker))
          : node.operands.some((operand) => this.truth(operand, taker));
      }
    }
  }

  #compare(operator: Operator, left: Node, right: Node): boolean {
    const one = this.value(left);
    const other = this.value(right);
    if (operator === "==") return equal(one, other);
    if (operator === "!=") return !equal(one, other);
    if (isNumber(one) && isNumber(other)) {
      checkNumber(one);
      checkNumber(other);
      return isOrdered(operator, one, other);
    }
    if (typeof one === "string" && typeof other === "string") return isOrdered(operator, one, other);
    const are = `${this.source(left)} is ${kindOf(one)}, and ${this.source(right)} ${kindOf(other)}`;
    throw new ExpressionFault(`${are}; \`${operator}\` compares two numbers or two texts`);
  }

  #member(node: Member): Json {
    const { of, key, isEach } = node;
    if (of.kind === "context" && of.name === "env") return this.#variable(key);
    const owner = this.value(of);
    const name = this.value(key);
    if (isEach && isList(owner)) {
      this.work.add(owner.length);
      return owner.flatMap((item) => {
        const found = memberOf(item, name);
        return found === undefined ? [] : [found];
      });
    }
    const found = memberOf(owner, name);
    if (found !== undefined) return found;
    const which = key.kind === "literal" ? "" : `, with ${this.shown([key])},`;
    // The file's check has found the step's id, so the step exists.
    const isUnrun = of.kind === "context" && of.name === "steps" && key.kind === "literal";
    const why = isUnrun
      ? "that step hasn't run"
      : `${this.source(of)}${unreadable(node, owner) ?? ` ${describeMembers(owner)}`}`;
    throw new ExpressionFault(`${this.source(node)}${which} isn't there; ${why}`, true);
  }

  #variable(key: Node): string {
    const name = this.value(key);
    if (typeof name === "string") return variable(name, this.#contexts);
    throw new ExpressionFault(`a variable has a name, and ${this.source(key)} is ${kindOf(name)}`);
  }

  /** The items of a list, or the values of a map; after another `.*`, those of each item that has some. */
  #all({ of, isEach }: Extract<Node, { kind: "all" }>): Json {
    const owner = this.value(of);
    const items = isEach && isList(owner) ? owner.flatMap((item) => itemsOf(item) ?? []) : itemsOf(owner);
    if (items === undefined) {
      const is = `${this.source(of)} is ${kindOf(owner)}`;
      throw new ExpressionFault(`${is}; \`.*\` takes the items of a list or the values of a map`, true);
    }
    this.work.add(items.length);
    return items;
  }
}

function isOrdered<T extends string | number | bigint>(operator: Operator, one: T, other: T): boolean {
  if (operator === "<") return one < other;
  if (operator === "<=") return one <= other;
  return operator === ">" ? one > other : one >= other;
}

function memberOf(owner: Json, name: Json): Json | undefined {
  if (isList(owner)) return isNumber(name) ? owner[Number(name)] : undefined;
  return isMap(owner) && typeof name === "string" && Object.hasOwn(owner, name) ? owner[name] : undefined;
}

function itemsOf(value: Json): readonly Json[] | undefined {
  return isList(value) ? value : isMap(value) ? Object.values(value) : undefined;
}

const most = { names: 10, letters: 60 } as const;

/** Why a step's result lacks a member: it was skipped, or what its `json` would be read from isn't JSON. */
function unreadable({ of, key }: Member, owner: Json): string | undefined {
  const isResult =
    of.kind === "member"
      ? of.of.kind === "context" && of.of.name === "steps"
      : of.kind === "context" && of.name === "this";
  if (!isResult || !isMap(owner)) return undefined;
  if (owner["outcome"] === "skipped") return " was skipped";
  if (key.kind !== "literal" || key.value !== "json") return undefined;
  for (const name of ["stdout", "text"]) {
    const text = memberOf(owner, name);
    if (typeof text === "string") return `.${name} ${notJson(text)}`;
  }
  return undefined;
}

/** What an owner has that lacks a member. */
function describeMembers(owner: Json): string {
  if (isList(owner)) return `has ${owner.length} item${owner.length === 1 ? "" : "s"}, counted from 0`;
  return isMap(owner) ? describeNames(Object.keys(owner)) : `is ${kindOf(owner)}`;
}

/** The members of a map in a sentence. Long names are left out rather than cut, since they may be secrets. */
export function describeNames(names: readonly string[]): string {
  const shown = names.filter((name) => name.length <= most.letters).slice(0, most.names);
  if (names.length === 0) return "is empty";
  return `has ${[...shown, ...(shown.length < names.length ? ["…"] : [])].join(", ")}`;
}

/** How many operands are explained: masking the values of each takes time. */
const mostSides = 10;

/**
 * Says why a condition doesn't hold, with the values that it compares: `length(this.json.items) == inputs.lamps: 1 and 2`.
 * The message shows no more of a value than its beginning, masked.
 * @returns undefined when it holds.
 * @throws ExpressionFault when it has no value, or one that is neither true nor false.
 */
export function explain({ text, root }: Expression, contexts: Contexts, tools: Tools): string | undefined {
  const evaluation = new Evaluation(text, contexts, tools);
  if (evaluation.truth(root, "a condition")) return undefined;
  return why(root, false, evaluation);
}

/** Why a node, which has been evaluated, is true or false. */
function why(node: Node, is: boolean, evaluation: Evaluation): string {
  const source = evaluation.source(node);
  const begin = is ? `${source} is true` : source;
  switch (node.kind) {
    case "not":
      return why(node.operand, !is, evaluation);
    case "logical": {
      // One side makes `&&` false or `||` true; otherwise all of them count.
      const decisive = node.operands.find((operand) => evaluation.value(operand) === is);
      const sides = is === (node.operator === "||") && decisive !== undefined ? [decisive] : node.operands;
      const said = sides.slice(0, mostSides).map((operand) => why(operand, is, evaluation));
      return [...said, ...(sides.length > mostSides ? ["…"] : [])].join("; ");
    }
    case "compare":
      return `${begin}: ${evaluation.shown([node.left, node.right])}`;
    case "call": {
      const [first] = node.args;
      if (node.name !== "exists" || first === undefined) return `${begin}: ${evaluation.shown(node.args)}`;
      const missing = evaluation.missing(first);
      return missing?.message ?? `${evaluation.source(first)} is there: ${evaluation.shown([first])}`;
    }
    default:
      return `${source} is ${is}`;
  }
}
