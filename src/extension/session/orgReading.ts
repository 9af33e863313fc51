import { nextReset, utcDay } from "../../contract/time.ts";

/** When and how the numbers at hand were had. Times are in milliseconds since 1970. */
export interface OrgReading {
  /** `followed` numbers are told by the service whenever they change; `asked` ones are as old as they are. */
  readonly how: "followed" | "asked";
  /** On this machine's clock. */
  readonly at: number;
  /** On the service's clock, which alone decides what day it is (contract: "Refusals and errors over HTTP"). */
  readonly servedAt: number;
}

/** What the service's clock says when this machine's says `now`. */
export function serviceNow({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">, now: number): number {
  return now + servedAt - at;
}

/** Whether it is another day by now, so that the numbers are not today's. */
export function isOfAnotherDay(reading: Pick<OrgReading, "at" | "servedAt">, now: number): boolean {
  return utcDay(serviceNow(reading, now)) !== utcDay(reading.servedAt);
}

/** When this machine's clock will show the service's next 00:00 UTC after the numbers were had. */
export function resetOf({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">): number {
  return nextReset(servedAt) - servedAt + at;
}

/** How old numbers may be, in milliseconds, that are shown without their age. */
const freshFor = 300_000;

/** Whether numbers that had to be asked for are of so long ago that they are shown with their age. */
export function isOld({ how, at }: OrgReading, now: number): boolean {
  return how === "asked" && Math.abs(now - at) > freshFor;
}
