import * as z from "zod/mini";

/** An RFC 3339 time. This project's service sends UTC; another may send an offset. */
export const instant = z.iso.datetime({ offset: true, error: "expected an RFC 3339 time" });

/**
 * A field that a client can do without (contract: "What a client may ask of a reply"): undefined where the service leaves it
 * out or sends anything of another type, and the rest of the reply stands.
 */
export function lenient<T extends z.ZodMiniType>(field: T): z.ZodMiniCatch<z.ZodMiniOptional<T>> {
  return z.catch(z.optional(field), undefined);
}
