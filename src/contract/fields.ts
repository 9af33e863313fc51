import * as z from "zod/mini";

/** An RFC 3339 time. This project's service sends UTC; another may send an offset. */
export const instant = z.iso.datetime({ offset: true, error: "expected an RFC 3339 time" });

/**
 * A field that a client can do without (contract: "What a client may ask of a reply"): undefined if the service omits it or
 * sends another type; the rest of the reply stays valid.
 */
export function lenient<T extends z.ZodMiniType>(field: T): Lenient<T> {
  return z.catch(z.optional(field), undefined);
}

type Lenient<T extends z.ZodMiniType> = z.ZodMiniCatch<z.ZodMiniOptional<T>>;

/** An object as a client reads it from any service: every field but those that it needs is {@link lenient}. */
export function lenientBut<Shape extends Record<string, z.ZodMiniType>, Needed extends keyof Shape>(
  { shape }: z.ZodMiniObject<Shape>,
  needed: readonly Needed[],
) {
  type Read = { [Name in keyof Shape]: Name extends Needed ? Shape[Name] : Lenient<Shape[Name]> };
  const names: ReadonlySet<unknown> = new Set(needed);
  const fields = Object.entries(shape).map(([name, field]) => [
    name,
    names.has(name) ? field : lenient(field),
  ]);
  // `Object.fromEntries` loses the type of each field.
  return z.object(Object.fromEntries(fields) as Read);
}
