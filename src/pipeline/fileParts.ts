import * as z from "zod/mini";
import { durationPattern } from "./duration.ts";

/** What the schemas of several resource types are made of. */

export const nonEmpty = z.string().check(z.minLength(1, "this text is empty"));

const aDuration = "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds";
export const duration = z.union(
  [z.string().check(z.regex(durationPattern, aDuration)), z.number().check(z.nonnegative(aDuration))],
  aDuration,
);

/** What becomes a text: YAML reads `8080` and `true` as something else, but here they are meant as written. */
export const words = z.union([z.string(), z.number(), z.boolean()], "expected text");

/** What every step may have, whatever its type. */
export const everyStep = { name: z.optional(nonEmpty), use: z.string() };
