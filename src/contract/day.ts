export const dayMilliseconds = 86_400_000;

/** The day of an instant (milliseconds since 1970) as `YYYY-MM-DD`. The service's days are UTC (contract: "Limits"). */
export function utcDay(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** The instant (milliseconds since 1970) of the next 00:00 UTC, always later than `instant`. */
export function nextReset(instant: number): number {
  return (Math.floor(instant / dayMilliseconds) + 1) * dayMilliseconds;
}

/** Whole seconds from an instant to the next 00:00 UTC, rounded up: 1 to 86400. */
export function secondsToReset(instant: number): number {
  return Math.ceil((nextReset(instant) - instant) / 1000);
}
