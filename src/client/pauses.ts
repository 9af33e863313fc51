/** The shortest and the longest pause between two attempts, in milliseconds (contract: "The wait"). */
export const pauseBounds = { shortest: 1000, longest: 5000 } as const;

/**
 * Pauses between attempts, without end: each grows by half, and a random part is taken off so that many clients
 * that were refused in the same moment don't come back in the same moment. Every pause is within the bounds.
 *
 * @param random a number from 0 up to but not including 1, as `Math.random` gives.
 */
export function* growingPauses(
  random: () => number,
  { shortest, longest }: { readonly shortest: number; readonly longest: number } = pauseBounds,
): Generator<number, never> {
  for (let ceiling = shortest * 1.5; ; ceiling = Math.min(ceiling * 1.5, longest)) {
    yield Math.max(shortest, Math.round(ceiling * (1 - random() / 3)));
  }
}
