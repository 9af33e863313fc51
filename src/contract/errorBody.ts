import * as z from "zod/mini";

/** The body of an error over HTTP (contract: "Refusals and errors over HTTP"); `next` says what to do, and is ours. */
export const errorBodySchema = z.object({
  error: z.object({
    type: z.string(),
    message: z.string(),
    scope: z.optional(z.string()),
    next: z.optional(z.string()),
  }),
});
