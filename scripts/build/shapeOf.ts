import type * as z from "zod/mini";
import type { Shape } from "../../src/contract/shape.ts";

type Fields = Extract<Shape, { kind: "fields" }>["fields"];

/**
 * The shape of a schema, which holds for exactly the values that the schema takes as they are.
 * @throws Error for a schema that asks for what no shape can say.
 */
export function shapeOf(schema: z.core.$ZodType): Shape {
  const { def } = schema._zod as z.core.$ZodTypes["_zod"];
  switch (def.type) {
    case "string":
      return { kind: "text", ...textChecks(def) };
    case "number":
      return { kind: "whole", ...numberChecks(def) };
    case "literal":
      return { kind: "one-of", values: def.values };
    case "array":
      assertNoChecks(def);
      return { kind: "list", of: shapeOf(def.element) };
    case "object":
      assertNoChecks(def);
      if (def.catchall !== undefined) throw new Error("A shape drops the fields that it doesn't know.");
      return { kind: "fields", fields: Object.entries(def.shape).map(fieldOf) };
    default:
      throw new Error(`No shape is like the schema of the type ${def.type}.`);
  }
}

function fieldOf([name, schema]: [string, z.core.$ZodType]): Fields[number] {
  const { def } = schema._zod as z.core.$ZodTypes["_zod"];
  return def.type === "optional"
    ? [name, shapeOf(def.innerType), "sometimes"]
    : [name, shapeOf(schema), "always"];
}

function textChecks(def: z.core.$ZodStringDef): { readonly atLeast?: number; readonly pattern?: RegExp } {
  const found: { atLeast?: number; pattern?: RegExp } = {};
  const own = "check" in def ? [def as unknown as z.core.$ZodCheckDef] : [];
  for (const check of [...own, ...checksOf(def)]) {
    if (check.check === "min_length" && "minimum" in check) found.atLeast = Number(check.minimum);
    else if (check.check === "string_format" && "pattern" in check && check.pattern instanceof RegExp) {
      if (found.pattern !== undefined || check.pattern.global) throw new Error("A shape has one pattern.");
      found.pattern = check.pattern;
    } else throw new Error(`No shape is like a text's check ${check.check}.`);
  }
  return found;
}

function numberChecks(def: z.core.$ZodNumberDef): { readonly atLeast?: number } {
  if (!("format" in def) || def.format !== "safeint") throw new Error("A shape's numbers are whole ones.");
  let atLeast: number | undefined;
  for (const check of checksOf(def)) {
    if (check.check !== "greater_than" || !("value" in check) || !("inclusive" in check))
      throw new Error(`No shape is like a number's check ${check.check}.`);
    atLeast = Number(check.value) + (check.inclusive === true ? 0 : 1);
  }
  return atLeast === undefined ? {} : { atLeast };
}

function checksOf({ checks = [] }: z.core.$ZodTypeDef & { checks?: z.core.$ZodCheck<never>[] | undefined }) {
  return checks.map(({ _zod }) => _zod.def);
}

function assertNoChecks(def: z.core.$ZodTypeDef): void {
  if (checksOf(def).length > 0) throw new Error("A shape has no checks of a whole list or object.");
}
