import type { Tools } from "./callFunction.ts";
import { type Contexts, Evaluation } from "./evaluate.ts";
import type { Expression, Node } from "./expression.ts";

/** How many sides of an `||` are explained: each takes its values' masking. */
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
      // One side makes `&&` false or `||` true; otherwise each does its part.
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
