/** What a value of the wire plainly looks like: all that its schema asks for, as data that takes no time to make. */
export type Shape =
  | { readonly kind: "text"; readonly atLeast?: number; readonly pattern?: RegExp }
  /** A whole number that a double holds exactly. */
  | { readonly kind: "whole"; readonly atLeast?: number }
  | { readonly kind: "one-of"; readonly values: readonly unknown[] }
  | { readonly kind: "list"; readonly of: Shape }
  | { readonly kind: "fields"; readonly fields: readonly Field[] };

type Field = readonly [name: string, shape: Shape, presence: "always" | "sometimes"];

/** Stands for what is not of a shape. */
const unlike = Symbol("unlike");

/**
 * Reads a value that is of a shape, without what the shape doesn't know of.
 * @returns undefined for one that is not: its schema then says why.
 */
export function readShape(shape: Shape, value: unknown): { readonly value: unknown } | undefined {
  const read = readPart(shape, value);
  return read === unlike ? undefined : { value: read };
}

function readPart(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case "text": {
      const { atLeast = 0, pattern } = shape;
      if (typeof value !== "string" || value.length < atLeast) return unlike;
      return pattern === undefined || pattern.test(value) ? value : unlike;
    }
    case "whole":
      return Number.isSafeInteger(value) && Number(value) >= (shape.atLeast ?? Number.NEGATIVE_INFINITY)
        ? value
        : unlike;
    case "one-of":
      return shape.values.includes(value) ? value : unlike;
    case "list":
      return Array.isArray(value) ? readList(shape.of, value) : unlike;
    case "fields":
      return typeof value === "object" && value !== null && !Array.isArray(value)
        ? readFields(shape.fields, new Map(Object.entries(value)))
        : unlike;
    default:
      return shape satisfies never;
  }
}

function readList(shape: Shape, values: readonly unknown[]): unknown {
  const list: unknown[] = [];
  for (const value of values) {
    const read = readPart(shape, value);
    if (read === unlike) return unlike;
    list.push(read);
  }
  return list;
}

function readFields(fields: readonly Field[], values: ReadonlyMap<string, unknown>): unknown {
  const kept: Record<string, unknown> = {};
  for (const [name, shape, presence] of fields) {
    if (!values.has(name) && presence === "sometimes") continue;
    const read = readPart(shape, values.get(name));
    if (read === unlike) return unlike;
    kept[name] = read;
  }
  return kept;
}
