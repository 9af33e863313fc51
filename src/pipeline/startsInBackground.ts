import type { Step } from "./types/resourceTypes.ts";

/** Whether a step's line for the shell has an `&` that lets a program go on behind it. */
export function startsInBackground(step: Step): boolean {
  return step.type === "cli" && [step.run].flat().some((text) => /(?<![&|>\\])&(?=\s|\)|$)/.test(text));
}
