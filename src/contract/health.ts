import * as z from "zod/mini";

/** `GET /healthz`: that a service answers, which start of it, and of which version (ours). */
export const healthSchema = z.object({
  ok: z.literal(true),
  instance: z.optional(z.string()),
  version: z.optional(z.string()),
});

export type Health = z.infer<typeof healthSchema>;
