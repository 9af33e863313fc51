import * as z from "zod/mini";

/** `GET /healthz`: that a service answers, and which start of it (ours). */
export const healthSchema = z.object({ ok: z.literal(true), instance: z.optional(z.string()) });

export type Health = z.infer<typeof healthSchema>;
