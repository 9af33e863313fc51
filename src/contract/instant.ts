import * as z from "zod/mini";

/** An instant in RFC 3339. Ours are always UTC; another service's may carry an offset. */
export const instant = z.iso.datetime({ offset: true, error: "expected an RFC 3339 time" });
