import { readTextExpectation } from "../file/expectation.ts";
import type { CallNode, Node } from "./expression.ts";
import type { FunctionName } from "./names.ts";
import {
  asText,
  ExpressionFault,
  equal,
  includes,
  isList,
  isMap,
  type Json,
  kindOf,
  notJson,
  parseJson,
  parseNumber,
  writeJson,
} from "./value.ts";

/** What the functions need of the program that evaluates. */
export interface Tools {
  readonly now: () => Date;
  readonly uuid: () => string;
  /** Of the text as UTF-8, in hexadecimal digits. */
  readonly sha256: (text: string) => string;
  /**
   * The first match in a line of the text.
   * @throws ExpressionFault when it takes too long.
   */
  readonly match: (pattern: RegExp, text: string) => RegExpExecArray | null;
  /** Masks what a message shows, before it is shortened. */
  readonly hide: (text: string) => string;
}

/** The evaluation that a call is a part of. An argument is evaluated when it is asked for. */
interface Evaluator {
  readonly tools: Tools;
  readonly work: { add(size: number): void; check(size: number): void };
  value(node: Node): Json;
  missing(node: Node): ExpressionFault | undefined;
  source(node: Node): string;
}

/** @throws ExpressionFault when the function has no value for its arguments. */
export function callFunction(node: CallNode, evaluator: Evaluator): Json {
  const value = calls[node.name](new Call(node, evaluator));
  if (typeof value === "string") evaluator.work.add(value.length);
  return value;
}

class Call {
  readonly evaluator: Evaluator;
  readonly #node: CallNode;

  constructor(node: CallNode, evaluator: Evaluator) {
    this.#node = node;
    this.evaluator = evaluator;
  }

  has(index: number): boolean {
    return index < this.#node.args.length;
  }

  value(index: number): Json {
    return this.evaluator.value(this.#argument(index));
  }

  isThere(index: number): boolean {
    return this.evaluator.missing(this.#argument(index)) === undefined;
  }

  text(index: number): string {
    const value = this.value(index);
    if (typeof value === "string") return value;
    throw this.wrong(index, "a text");
  }

  wrong(index: number, expected: string): ExpressionFault {
    const is = `${this.evaluator.source(this.#argument(index))} is ${kindOf(this.value(index))}`;
    return new ExpressionFault(`${is}; \`${this.#node.name}\` takes ${expected}`);
  }

  /** @param why what is wrong, about the call as the file writes it. */
  fault(why: string, isMissing = false): ExpressionFault {
    return new ExpressionFault(`${this.evaluator.source(this.#node)}: ${why}`, isMissing);
  }

  #argument(index: number): Node {
    const argument = this.#node.args[index];
    if (argument === undefined) throw new Error("the number of arguments has been checked");
    return argument;
  }
}

const calls: Readonly<Record<FunctionName, (call: Call) => Json>> = {
  contains: (call) => {
    const where = call.value(0);
    if (typeof where === "string") return where.includes(call.text(1));
    if (!isList(where)) throw call.wrong(0, "a text or a list");
    const what = call.value(1);
    return where.some((item) => (isMap(what) ? includes(item, what) : equal(item, what)));
  },
  startsWith: (call) => call.text(0).startsWith(call.text(1)),
  endsWith: (call) => call.text(0).endsWith(call.text(1)),
  format,
  join,
  toJSON: (call) => writeJson(call.value(0)),
  fromJSON: (call) => {
    const text = call.text(0);
    call.evaluator.work.add(text.length);
    const parsed = parseJson(text);
    if (parsed === undefined) throw call.fault(`the text ${notJson(text)}`);
    return parsed.value;
  },
  length: (call) => {
    const value = call.value(0);
    // A pair of surrogates is one character.
    if (typeof value === "string") return value.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "-").length;
    if (isList(value)) return value.length;
    if (isMap(value)) return Object.keys(value).length;
    throw call.wrong(0, "a text, a list or a map");
  },
  exists: (call) => call.isThere(0),
  default: (call) => call.value(call.isThere(0) ? 0 : 1),
  match,
  number: (call) => {
    const value = parseNumber(call.text(0).trim());
    if (value === undefined) throw call.fault("the text isn't a number");
    return value;
  },
  text: (call) => asText(call.value(0)),
  lower: (call) => call.text(0).toLowerCase(),
  upper: (call) => call.text(0).toUpperCase(),
  now: (call) => call.evaluator.tools.now().toISOString(),
  uuid: (call) => call.evaluator.tools.uuid(),
  base64: (call) => Buffer.from(call.text(0)).toString("base64"),
  sha256: (call) => call.evaluator.tools.sha256(call.text(0)),
  "url-encode": (call) => encodeURIComponent(call.text(0).toWellFormed()),
};

function format(call: Call): string {
  let size = 0;
  return call.text(0).replace(/\{\{|\}\}|\{(\d+)\}|[{}]/g, (brace, number: string | undefined) => {
    if (brace === "{{" || brace === "}}") return brace.slice(1);
    if (number === undefined) throw call.fault(`a \`${brace}\` by itself is written \`${brace}${brace}\``);
    const index = Number(number) + 1;
    if (!call.has(index)) throw call.fault(`there is no value for \`${brace}\``);
    const text = asText(call.value(index));
    size += text.length;
    call.evaluator.work.check(size);
    return text;
  });
}

function join(call: Call): string {
  const list = call.value(0);
  if (!isList(list)) throw call.wrong(0, "a list");
  const separator = call.has(1) ? call.text(1) : ",";
  let size = 0;
  const texts = list.map((item) => {
    const text = asText(item);
    size += text.length + separator.length;
    call.evaluator.work.check(size);
    return text;
  });
  return texts.join(separator);
}

function match(call: Call): string {
  const text = call.text(0);
  const read = readTextExpectation(call.text(1));
  if (read.kind === "invalid" || read.expectation.kind !== "matches") {
    throw new Error("the pattern has been checked");
  }
  const { source, flags } = read.expectation;
  const found = call.evaluator.tools.match(new RegExp(source, flags), text);
  if (found === null) throw call.fault("nothing matches", true);
  return found[1] ?? found[0];
}
