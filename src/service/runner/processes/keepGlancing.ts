/** The shortest pause between two glances, in milliseconds, and the longest unless a glance takes long. */
const pauses = { shortest: 10, longest: 250 } as const;
/** A pause is so many times as long as the glance before it, so that a crowded machine isn't kept busy. */
const restFactor = 50;

export interface Glancing extends Disposable {
  /** Glances now and soon again: something has begun. */
  look(): void;
}

/**
 * Calls `glance` again and again until it is disposed: soon after something began, since what leaves its parent does so
 * in its first moments, then after pauses that double.
 */
export function keepGlancing(glance: () => void): Glancing {
  let timer: NodeJS.Timeout | undefined;
  const lookAfter = (pause: number): void => {
    const began = performance.now();
    try {
      glance();
    } catch {
      // The next glance makes up for it, and the end of the run reads the same again and says what is wrong.
    }
    const rest = Math.max(pause, (performance.now() - began) * restFactor);
    timer = setTimeout(() => lookAfter(Math.min(pause * 2, pauses.longest)), rest);
    timer.unref();
  };
  return {
    look() {
      clearTimeout(timer);
      lookAfter(pauses.shortest);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
