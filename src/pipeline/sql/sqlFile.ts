import * as z from "zod/mini";
import { duration, everyStep, nonEmpty } from "../fileParts.ts";

/** The sql resource and its steps as a pipeline file writes them. */

const params = z.array(z.unknown());

const aStatement = "expected a statement, or a map with `query` and `params`";

export const sqlResourceSchema = z.strictObject({
  type: z.literal("sql"),
  url: nonEmpty,
  timeout: z.optional(duration),
});

export const sqlStepFileSchema = z.strictObject({
  ...everyStep,
  query: z.optional(nonEmpty),
  params: z.optional(params),
  statements: z.optional(
    z
      .array(z.union([nonEmpty, z.strictObject({ query: nonEmpty, params: z.optional(params) })], aStatement))
      .check(z.minLength(1)),
  ),
  timeout: z.optional(duration),
  expect: z.optional(
    z.strictObject({
      rows: z.optional(z.array(z.record(z.string(), z.unknown()))),
      "row-count": z.optional(z.int().check(z.nonnegative())),
    }),
  ),
});

export type SqlResourceFile = z.infer<typeof sqlResourceSchema>;
export type SqlStepFile = z.infer<typeof sqlStepFileSchema>;
