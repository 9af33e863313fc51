import * as z from "zod/mini";
import { browserResourceSchema, browserStepFileSchema } from "../types/browserFile.ts";
import { cliResourceSchema, cliStepFileSchema } from "../types/cli.ts";
import { httpResourceSchema, httpStepFileSchema } from "../types/http.ts";
import { sqlResourceSchema, sqlStepFileSchema } from "../types/sql.ts";
import { duration } from "./values.ts";

/**
 * The pipeline file as it is written. The parser checks piece by piece, so that a problem is told in the words of the
 * resource type it is about; the JSON Schema for editors is made of the same pieces.
 */
const top = {
  $schema: z.optional(z.string()),
  name: z.optional(z.string()),
  "time-limit": z.optional(duration),
};

/** The file's outermost level; what stands in `resources` and `steps` is checked entry by entry. */
export const outlineSchema = z.strictObject({
  ...top,
  resources: z.optional(z.record(z.string(), z.unknown())),
  steps: z.array(z.unknown()).check(z.minLength(1)),
});

/** All of it at once, for the JSON Schema. */
export const wholeFileSchema = z.strictObject({
  ...top,
  resources: z.record(
    z.string(),
    z.union([httpResourceSchema, sqlResourceSchema, browserResourceSchema, cliResourceSchema]),
  ),
  steps: z
    .array(z.union([httpStepFileSchema, sqlStepFileSchema, browserStepFileSchema, cliStepFileSchema]))
    .check(z.minLength(1)),
});
