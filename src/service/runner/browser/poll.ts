import { setTimeout as pause } from "node:timers/promises";
import { type Deadline, isTimeout, TimeIsOver } from "./deadline.ts";

const pauseMilliseconds = 100;

/** What a look at a page that is just going elsewhere ends with. The next look sees the new page. */
const isOnItsWay =
  /Execution context was destroyed|Cannot find context|Frame was detached|frame got detached|Target page, context or browser has been closed|has been closed|Unable to adopt element handle|Unable to retrieve content/i;

/**
 * Looks again and again until there is something to see, and once more when the time is over: on a busy machine there
 * may have been no time for a look at all.
 *
 * @returns undefined when there was nothing to see.
 */
export async function poll<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  return (await lookUntil(deadline, look)) ?? (await lookOnce(deadline.toTellWhy(), look));
}

async function lookUntil<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (;;) {
    const seen = await lookOnce(deadline, look);
    if (seen !== undefined || deadline.isOver) return seen;
    await pause(Math.min(pauseMilliseconds, deadline.left));
  }
}

async function lookOnce<T>(
  deadline: Deadline,
  look: (deadline: Deadline) => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    return await deadline.within(look(deadline));
  } catch (error) {
    if (error instanceof TimeIsOver || isTimeout(error)) return undefined;
    if (error instanceof Error && isOnItsWay.test(error.message)) return undefined;
    throw error;
  }
}
