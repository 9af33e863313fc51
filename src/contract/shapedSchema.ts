import type * as z from "zod/mini";
import { readShape, type Shape } from "./shape.ts";

/**
 * Stands for a schema in a program that has no time to make it: reads what is plainly of its shape, and asks the schema itself
 * only for what isn't. The build makes the shape of the schema (scripts/build/shapeOf.ts).
 */
export function shapedSchema<T>(shape: Shape, schema: () => z.ZodMiniType<T>): unknown {
  return {
    safeParse: (value: unknown, options: { readonly jitless: boolean }) => {
      const read = readShape(shape, value);
      return read === undefined ? schema().safeParse(value, options) : { success: true, data: read.value };
    },
  };
}
