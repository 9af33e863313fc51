import type { EventEmitter } from "node:events";
import type { Clock } from "../../contract/clock.ts";

interface IdleWatch {
  /** Whether someone asks, listens, runs or waits now. */
  readonly isBusy: () => boolean;
  /** The HTTP server, whose requests show that a face is there. */
  readonly requests: Pick<EventEmitter, "on" | "off">;
  readonly idleSeconds: number;
  readonly clock: Clock;
  readonly onIdle: () => void;
}

/** How many looks there are in the time without anything; it is over at the end of the last. */
const looks = 20;

/**
 * Calls `onIdle` once nothing has happened for so long, counted from the end of the last thing that did: it is looked
 * at twenty times in that time, so it may be a twentieth longer. @returns the way to stop watching.
 */
export function watchIdle({ isBusy, requests, idleSeconds, clock, onIdle }: IdleWatch): () => void {
  let left = looks;
  let takeBack = () => {};
  const begin = () => {
    left = looks;
  };
  const look = () => {
    if (isBusy()) begin();
    else left -= 1;
    if (left < 0) onIdle();
    else wait();
  };
  const wait = () => {
    takeBack = clock.after((idleSeconds * 1000) / looks, look);
  };
  requests.on("request", begin);
  wait();
  return () => {
    requests.off("request", begin);
    takeBack();
  };
}
