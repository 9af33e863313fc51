import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { databaseSchema } from "./databaseUrl.ts";

/** A step that runs statements on a database and looks at what the last one returns, settled and ready to run. */
export const sqlStepSchema = z.object({
  type: z.literal("sql"),
  name: z.string(),
  /** The resource's name. */
  use: z.string(),
  database: databaseSchema,
  /** At least one. `params` stand in the place of `?` or `$1`, `$2`, …; they are any JSON values. */
  statements: z.array(z.object({ text: z.string(), params: z.array(z.unknown()) })).check(z.minLength(1)),
  /** Whether they are one transaction: all or nothing. */
  isTransaction: z.boolean(),
  timeoutMilliseconds: z.number(),
  expect: z.object({
    /** Each compared by subset, see `jsonMismatches`. */
    rows: z.optional(z.array(z.unknown())),
    rowCount: z.optional(z.int()),
  }),
});

export type SqlStep = DeepReadonly<z.infer<typeof sqlStepSchema>>;
