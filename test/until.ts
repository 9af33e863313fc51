import { setTimeout as pause } from "node:timers/promises";

/** Looks until there is something, and returns it; the test's own time limit is the only one. */
export async function until<T>(look: () => Promise<T | false | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    await pause(10);
  }
}
