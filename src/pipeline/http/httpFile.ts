import * as z from "zod/mini";
import { statusFileSchema } from "../expectedStatus.ts";
import { duration, everyStep, nonEmpty, words } from "../fileParts.ts";

/** The http resource and its steps as a pipeline file writes them. */

const headers = z.record(
  z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "this can't name an HTTP header")),
  words,
);

export const httpResourceSchema = z.strictObject({
  type: z.literal("http"),
  "base-url": z.optional(nonEmpty),
  headers: z.optional(headers),
  timeout: z.optional(duration),
});

export const httpStepFileSchema = z.strictObject({
  ...everyStep,
  get: z.optional(nonEmpty),
  post: z.optional(nonEmpty),
  put: z.optional(nonEmpty),
  patch: z.optional(nonEmpty),
  delete: z.optional(nonEmpty),
  head: z.optional(nonEmpty),
  headers: z.optional(headers),
  body: z.optional(words),
  json: z.optional(z.unknown()),
  timeout: z.optional(duration),
  expect: z.optional(
    z.strictObject({
      status: z.optional(statusFileSchema),
      headers: z.optional(headers),
      json: z.optional(z.unknown()),
      text: z.optional(words),
      time: z.optional(duration),
    }),
  ),
});

export type HttpResourceFile = z.infer<typeof httpResourceSchema>;
export type HttpStepFile = z.infer<typeof httpStepFileSchema>;
