import * as z from "zod/mini";

/** What the connection file of this machine's embedded service says. */
export const connectionSchema = z.object({
  url: z.string().check(z.regex(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)),
  pid: z.int().check(z.positive()),
  /** The API key of this machine's faces; new at every start of the service. */
  token: z.string().check(z.minLength(1)),
  instance: z.string().check(z.minLength(1)),
  /** The service's version; left out by one that runs from its sources. */
  version: z.optional(z.string()),
});

export type Connection = z.infer<typeof connectionSchema>;
