import type { Step } from "./types/resourceTypes.ts";

/** Whether a step starts a program that goes on after it. */
export function startsInBackground(step: Step): boolean {
  return (step.type === "cli" && step.background !== undefined) || startsByAmpersand(step);
}

/** Whether its line for the shell starts one, by an `&`. */
export function startsByAmpersand(step: Step): boolean {
  return step.type === "cli" && [step.run].flat().some((text) => /(?<![&|>\\])&(?=\s|\)|$)/.test(text));
}
