import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { statusRangeSchema } from "../expectedStatus.ts";
import { textExpectationSchema } from "../textExpectation.ts";

export const httpMethods = ["get", "post", "put", "patch", "delete", "head"] as const;

/** A step that sends one request and looks at its reply, settled against its resource and ready to run. */
export const httpStepSchema = z.object({
  type: z.literal("http"),
  name: z.string(),
  /** The resource's name. */
  use: z.string(),
  method: z.enum(httpMethods),
  /** The resource's base URL with the step's path put behind it. */
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("none") }),
    z.object({ kind: z.literal("text"), text: z.string() }),
    z.object({ kind: z.literal("json"), value: z.unknown() }),
  ]),
  timeoutMilliseconds: z.number(),
  expect: z.object({
    status: statusRangeSchema,
    headers: z.record(z.string(), textExpectationSchema),
    /** In an object, so that an expected `null` differs from no expectation. */
    json: z.optional(z.object({ value: z.unknown() })),
    text: z.optional(textExpectationSchema),
    withinMilliseconds: z.optional(z.number()),
  }),
});

export type HttpStep = DeepReadonly<z.infer<typeof httpStepSchema>>;
