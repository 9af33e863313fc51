import { mutateJson } from "./mutateJson.ts";
import { mutateText } from "./mutateText.ts";
import type { Random } from "./random.ts";

/** A new input, some changes away from one that is known; where part of it is JSON, often a change of a value in that. */
export function mutate(
  input: string,
  random: Random,
  others: { readonly other: string; readonly words: readonly string[]; readonly longest: number },
): string {
  let text = input;
  for (let changes = 1 + random.below(random.oneIn(3) ? 6 : 2); changes > 0; changes--) {
    text = (random.oneIn(2) ? inJson(text, random) : undefined) ?? mutateText(text, random, others);
  }
  return text.slice(0, others.longest);
}

/** The JSON is all of the input, or what stands behind an empty line, as a body stands behind headers. */
function inJson(text: string, random: Random): string | undefined {
  const body = text.indexOf("\n\n") + 1 || 0;
  const start = body === 0 ? 0 : body + 1;
  if (!/^\s*[[{"]/.test(text.slice(start, start + 20))) return undefined;
  const changed = mutateJson(text.slice(start), random);
  return changed === undefined ? undefined : text.slice(0, start) + changed;
}
