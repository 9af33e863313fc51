const dayMilliseconds = 86_400_000;

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

/** Formats milliseconds: `0.4 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 9_950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats milliseconds in whole seconds, for a running count. */
export function wholeSeconds(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 10 ? `${seconds} s` : duration(seconds * 1000);
}
