import type { Translate } from "./refusalText.ts";

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
