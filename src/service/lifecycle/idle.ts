import type { EventEmitter } from "node:events";
import type { Clock } from "../../machine/clock.ts";

interface IdleWatch {
  /** Whether a reply is open, a run is active or a request waits. */
  readonly isBusy: () => boolean;
  /** The HTTP server, whose requests show that a face is there. */
  readonly requests: Pick<EventEmitter, "on" | "off">;
  readonly idleSeconds: number;
  readonly clock: Pick<Clock, "after">;
  readonly onIdle: () => void;
}

/** The checks within the idle time, which may so be longer by a twentieth. */
const checks = 20;

/** Calls `onIdle` once the service has not been used for `idleSeconds`. @returns a function that stops watching. */
export function watchIdle({ isBusy, requests, idleSeconds, clock, onIdle }: IdleWatch): () => void {
  let left = checks;
  let cancelTimer = () => {};
  const restart = () => {
    left = checks;
  };
  const check = () => {
    if (isBusy()) restart();
    else left -= 1;
    if (left < 0) onIdle();
    else checkLater();
  };
  const checkLater = () => {
    cancelTimer = clock.after((idleSeconds * 1000) / checks, check);
  };
  requests.on("request", restart);
  checkLater();
  return () => {
    requests.off("request", restart);
    cancelTimer();
  };
}
