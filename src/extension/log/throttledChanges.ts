import { anySignal } from "../../machine/anySignal.ts";
import type { Clock } from "../../machine/clock.ts";

/** In milliseconds: the least time between two changes. */
const shortestInterval = 100;
/** The editor reads the whole document at each change, maybe over a network. */
const bytesPerSecond = 2_000_000;
/** In milliseconds: how long to wait for an editor, which may not show the document, to read a change. */
const longestRead = 1_500;

/**
 * Reports a document's changes, once an interval, and no faster than the editor reads them.
 * @param signal ends the reports.
 */
export function throttledChanges(clock: Clock, onChange: () => void, signal: AbortSignal) {
  let revision = 0;
  let isDue = false;
  let readBytes: number | undefined;
  let whenRead = Promise.withResolvers<void>();
  const notify = (): void => {
    if (isDue || signal.aborted) return;
    isDue = true;
    const pause = Math.max(shortestInterval, ((readBytes ?? 0) / bytesPerSecond) * 1000);
    void clock
      .sleep(pause, signal)
      .then(() => {
        isDue = false;
        revision += 1;
        onChange();
      })
      .catch(() => undefined);
  };
  return {
    notify,
    /** The number of reported changes. */
    revision: (): number => revision,
    wasRead: (bytes: number): void => {
      readBytes = bytes;
      whenRead.resolve();
    },
    /** Reports the changes so far, and waits until the editor has read them. */
    shown: async (): Promise<void> => {
      if (readBytes === undefined) return;
      whenRead = Promise.withResolvers<void>();
      notify();
      const waited = new AbortController();
      const patience = clock.sleep(longestRead, anySignal([signal, waited.signal]));
      await Promise.race([whenRead.promise, patience.catch(() => undefined)]);
      waited.abort();
    },
  };
}
