import { nextReset, utcDay } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Run } from "../../contract/run.ts";

/** What this window knows about the service. Only `live` has numbers, and only the service's latest. */
export type SessionState =
  /** No request was made, and nothing is shown. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting" }
  | {
      readonly kind: "no-key";
      readonly origin: string;
      readonly refused: boolean;
    }
  | {
      readonly kind: "live";
      readonly org: Org;
      /** Undefined if the service doesn't report runs. */
      readonly activeRuns: readonly Run[] | undefined;
    }
  | {
      readonly kind: "out-of-reach";
      readonly problem: string;
      readonly retried: boolean;
    }
  /** A person has stopped this machine's own service: it isn't started until a person asks for it. */
  | { readonly kind: "stopped" }
  /** This machine's own service can't serve this window. */
  | { readonly kind: "not-supported"; readonly problem: string };

/** When and how the org's numbers were read. Times are in milliseconds since 1970. */
export interface OrgReading {
  /** `followed`: events report each change; `asked`: the numbers are as old as `at`. */
  readonly how: "followed" | "asked";
  readonly at: number;
  /** On the service's clock, which alone decides what day it is (contract: "Refusals and errors over HTTP"). */
  readonly servedAt: number;
}

/** The service's clock when this machine's clock shows `now`. */
export function serviceNow({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">, now: number): number {
  return now + servedAt - at;
}

/** Whether the service's day has changed since the numbers were read. */
export function isOfAnotherDay(reading: Pick<OrgReading, "at" | "servedAt">, now: number): boolean {
  return utcDay(serviceNow(reading, now)) !== utcDay(reading.servedAt);
}

/** The service's next 00:00 UTC after the reading, on this machine's clock. */
export function resetOf({ at, servedAt }: Pick<OrgReading, "at" | "servedAt">): number {
  return nextReset(servedAt) - servedAt + at;
}

/** In milliseconds: older numbers are shown with their age. */
const freshFor = 300_000;

export function isOld({ how, at }: OrgReading, now: number): boolean {
  return how === "asked" && Math.abs(now - at) > freshFor;
}

export function runsPerDayOf(state: SessionState): number | undefined {
  return state.kind === "live" ? state.org.limits.runsPerDay : undefined;
}
