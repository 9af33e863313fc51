/** A duration in milliseconds for people, rounded down: `40 ms`, `1.5 s`, `12 s`, `3 min 5 s`, `2 min`, `1 h 2 min`. */
export function duration(milliseconds: number): string {
  const passed = Math.max(0, Math.floor(milliseconds));
  if (passed > 0 && passed < 1000) return `${passed} ms`;
  if (passed < 10_000) return `${Math.floor(passed / 100) / 10} s`;
  const seconds = Math.floor(passed / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  const [large, small] =
    minutes < 60
      ? [`${minutes} min`, seconds % 60 && `${seconds % 60} s`]
      : [`${Math.floor(minutes / 60)} h`, minutes % 60 && `${minutes % 60} min`];
  return small ? `${large} ${small}` : large;
}

/** The duration of something that is still going on, in whole seconds. */
export function elapsed(milliseconds: number): string {
  return duration(Math.floor(milliseconds / 1000) * 1000);
}

/** The duration between two instants (RFC 3339); undefined if one is unknown. */
export function tookText(from: string | undefined, to: string | undefined): string | undefined {
  return from === undefined || to === undefined ? undefined : duration(Date.parse(to) - Date.parse(from));
}

/** The format of a time of day. */
export const timeOfDayFormat = { hour: "numeric", minute: "2-digit" } as const;

/** The time of day on this machine's clock in the default locale, such as `8:22 AM`. @param instant milliseconds since 1970. */
export function timeOfDay(instant: number): string {
  return new Date(instant).toLocaleTimeString(undefined, timeOfDayFormat);
}
