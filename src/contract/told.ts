import * as z from "zod/mini";

/**
 * A field that a client can do without. Another service may leave it out, or write `null` or something else in its place:
 * then it is not told, and not shown, and the rest of the reply stands.
 */
export function told<T extends z.ZodMiniType>(field: T): z.ZodMiniCatch<z.ZodMiniOptional<T>> {
  return z.catch(z.optional(field), undefined);
}
