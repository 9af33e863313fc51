import * as z from "zod/mini";
import type { Translate } from "./refusalText.ts";

/**
 * The reply of `GET /api/queue`: how many start requests wait for a slot of the org, and the caller's place among them,
 * from 1 for whoever is next. No place for a request that isn't in the queue.
 */
export const queueSchema = z.object({
  waiting: z.int().check(z.nonnegative()),
  place: z.optional(z.int().check(z.positive())),
});

export type Queue = z.infer<typeof queueSchema>;

/** A start request's place in the queue. */
export interface QueuePlace {
  readonly place: number;
  readonly waiting: number;
}

/** `2nd of 3`. */
export function placeText({ place, waiting }: QueuePlace, t: Translate): string {
  return t("{0} of {1}", ordinal(place, t), waiting);
}

function ordinal(place: number, t: Translate): string {
  switch (rules.select(place)) {
    case "one":
      return t("{0}st", place);
    case "two":
      return t("{0}nd", place);
    case "few":
      return t("{0}rd", place);
    default:
      return t("{0}th", place);
  }
}

const rules = new Intl.PluralRules("en", { type: "ordinal" });
