import type { ContextName, FunctionName } from "./names.ts";
import type { Json } from "./value.ts";

export interface Expression {
  readonly text: string;
  readonly root: Node;
}

/** Where something stands in the expression's text: an offset and a length in UTF-16 units. */
export interface Position {
  readonly at: number;
  readonly length: number;
}

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=";

export type Node =
  | (Position & { readonly kind: "literal"; readonly value: Json })
  | (Position & { readonly kind: "context"; readonly name: ContextName })
  | Member
  | (Position & { readonly kind: "all"; readonly of: Node; readonly isEach: boolean })
  | CallNode
  | (Position & { readonly kind: "not"; readonly operand: Node })
  | (Position & {
      readonly kind: "compare";
      readonly operator: Operator;
      readonly left: Node;
      readonly right: Node;
    })
  | (Position & {
      readonly kind: "logical";
      readonly operator: "&&" | "||";
      readonly operands: readonly Node[];
    });

/** `of.key` or `of[key]`. */
export type Member = Position & {
  readonly kind: "member";
  readonly of: Node;
  readonly key: Node;
  /** Whether it follows a `.*`, so that it is the member of each item. */
  readonly isEach: boolean;
};

export type CallNode = Position & {
  readonly kind: "call";
  readonly name: FunctionName;
  readonly args: readonly Node[];
};

/** A use of a context: `steps.order['json'][0]` has the path `order`, `json`, 0. */
export interface Reference extends Position {
  readonly context: ContextName;
  /** As far as it is known from the file. Positions are those of the names, without dots and quotes. */
  readonly path: readonly PathName[];
  /** Whether it goes on with what only a run knows: an index that is an expression, or what follows a `.*`. */
  readonly goesOn: boolean;
}

interface PathName extends Position {
  readonly name: string | number;
}

/** Every use of a context, in the order of the text. The position of a reference is that of the context's name. */
export function references({ text, root }: Expression): readonly Reference[] {
  const found: Reference[] = [];
  visit(root);
  return found;

  /** @returns where in `found` the path that ends with this node is. */
  function visit(node: Node): number | undefined {
    switch (node.kind) {
      case "literal":
        return undefined;
      case "context":
        return (
          found.push({ context: node.name, at: node.at, length: node.length, path: [], goesOn: false }) - 1
        );
      case "member":
      case "all": {
        const index = visit(node.of);
        const reference = index === undefined ? undefined : found[index];
        const name = node.kind === "member" ? nameOf(node.key) : undefined;
        if (node.kind === "member" && name === undefined) visit(node.key);
        if (index !== undefined && reference !== undefined && !reference.goesOn) {
          found[index] =
            name === undefined
              ? { ...reference, goesOn: true }
              : { ...reference, path: [...reference.path, name] };
        }
        return index;
      }
      case "call":
        node.args.forEach(visit);
        return undefined;
      case "not":
        visit(node.operand);
        return undefined;
      case "compare":
        visit(node.left);
        visit(node.right);
        return undefined;
      case "logical":
        node.operands.forEach(visit);
        return undefined;
      default:
        return node satisfies never;
    }
  }

  function nameOf(key: Node): PathName | undefined {
    if (key.kind !== "literal" || (typeof key.value !== "string" && typeof key.value !== "number"))
      return undefined;
    const quote = text[key.at] === "'" ? 1 : 0;
    return { name: key.value, at: key.at + quote, length: key.length - 2 * quote };
  }
}
