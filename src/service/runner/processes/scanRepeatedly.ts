/** The shortest pause between two glances, in milliseconds, and the longest unless a glance takes long. */
const pauses = { shortest: 10, longest: 250 } as const;
/** A pause is so many times as long as the glance before it, so that a crowded machine isn't kept busy. */
const restFactor = 50;

export interface RepeatedScan extends Disposable {
  /** Glances now and soon again: something has begun. */
  look(): void;
}

/**
 * Calls `glance` again and again until it is disposed: soon after something began, since what leaves its parent does so
 * in its first moments, then after pauses that double. No glance begins before the one before it is over.
 */
export function scanRepeatedly(scan: () => void | Promise<void>): RepeatedScan {
  let timer: NodeJS.Timeout | undefined;
  let isScanning = false;
  let isAsked = false;
  let isOver = false;
  const goOn = (began: number, pauseAfter: number): void => {
    isScanning = false;
    if (isOver) return;
    const rest = isAsked ? pauses.shortest : Math.max(pauseAfter, (performance.now() - began) * restFactor);
    const next = isAsked ? pauses.shortest : Math.min(pauseAfter * 2, pauses.longest);
    isAsked = false;
    timer = setTimeout(() => scanAndContinue(next), rest);
    timer.unref();
  };
  const scanAndContinue = (pauseAfter: number): void => {
    isScanning = true;
    const began = performance.now();
    // A glance that fails is made up for by the next, and the end of the run reads the same and says what is wrong.
    try {
      const looking = scan();
      if (looking !== undefined) {
        void looking.catch(() => undefined).then(() => goOn(began, pauseAfter));
        return;
      }
    } catch {}
    goOn(began, pauseAfter);
  };
  return {
    look() {
      if (isScanning) {
        isAsked = true;
        return;
      }
      clearTimeout(timer);
      scanAndContinue(pauses.shortest);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
