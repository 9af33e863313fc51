const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How long ago an instant was, in as many words as a table has room for: `now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`,
 * and its day where that was long ago. Two clocks may differ, so what lies ahead is `now` too.
 *
 * @param now in milliseconds since 1970, as `instant` is when parsed.
 */
export function ago(instant: string, now: number): string {
  const passed = now - Date.parse(instant);
  if (passed < 1000) return "now";
  if (passed < minute) return `${Math.floor(passed / 1000)} s ago`;
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  if (passed < day) return `${Math.floor(passed / hour)} h ago`;
  if (passed < 30 * day) return `${Math.floor(passed / day)} d ago`;
  return new Date(instant).toISOString().slice(0, 10);
}
