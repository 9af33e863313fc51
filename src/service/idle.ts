import type { EventEmitter } from "node:events";
import type { Clock } from "./clock.ts";

interface IdleWatch {
  /** Whether someone listens, runs or waits now. */
  readonly isBusy: () => boolean;
  /** The HTTP server, whose requests show that a face is there. */
  readonly requests: Pick<EventEmitter, "on" | "off">;
  readonly idleSeconds: number;
  readonly clock: Clock;
  readonly onIdle: () => void;
}

/** Calls `onIdle` once nothing has happened for so long. @returns the way to stop watching. */
export function watchIdle({ isBusy, requests, idleSeconds, clock, onIdle }: IdleWatch): () => void {
  let takeBack = () => {};
  const wait = () => {
    takeBack();
    takeBack = clock.after(idleSeconds * 1000, () => (isBusy() ? wait() : onIdle()));
  };
  requests.on("request", wait);
  wait();
  return () => {
    requests.off("request", wait);
    takeBack();
  };
}
