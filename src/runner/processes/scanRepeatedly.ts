/** The pauses between two scans, in milliseconds; longer only after a slow scan. */
const pauses = { shortest: 10, longest: 250 } as const;
/** A pause is at least this many times as long as the scan before it, which bounds the load; shorter if a scan is asked for. */
const restFactor = { asked: 4, otherwise: 50 } as const;

interface RepeatedScan extends Disposable {
  /** Scans soon, since a process has started. */
  look(): void;
}

/**
 * Calls `scan` repeatedly until it is disposed: soon after a process started, since a process that detaches usually does
 * so at once, then after pauses that double. Scans never overlap.
 */
export function scanRepeatedly(scan: () => void | Promise<void>): RepeatedScan {
  let timer: NodeJS.Timeout | undefined;
  let isScanning = false;
  let isAsked = false;
  let isOver = false;
  const plan = (rest: number, pauseAfter: number): void => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(() => void scanAndPlan(pauseAfter), rest).unref();
  };
  const scanAndPlan = async (pauseAfter: number): Promise<void> => {
    isScanning = true;
    isAsked = false;
    const began = performance.now();
    try {
      await scan();
    } catch {
      // Ignored: the next scan makes up for it, and the end of the run reports lasting problems.
    }
    isScanning = false;
    const took = performance.now() - began;
    if (isAsked) plan(Math.max(pauses.shortest, took * restFactor.asked), pauses.shortest);
    else plan(Math.max(pauseAfter, took * restFactor.otherwise), Math.min(pauseAfter * 2, pauses.longest));
  };
  return {
    look() {
      // A scan that is asked for already isn't put off.
      const isComing = isScanning || isAsked;
      isAsked = true;
      if (!isComing) plan(pauses.shortest, pauses.shortest);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
