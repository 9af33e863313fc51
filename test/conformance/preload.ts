/** The environment of a process whose wall clock is off by so many hours. */
export function clockOff(hours: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${new URL("./preload/shiftedDate.mjs", import.meta.url)}`,
    CONFORMANCE_CLOCK_OFF: String(hours * 3_600_000),
  };
}

/** What makes Node.js heed it, for a process that drops NODE_OPTIONS. */
export const hurriedArgument = `--import=${new URL("./preload/hurriedClock.mjs", import.meta.url)}`;

/** The environment of a process whose time passes so many times as fast. */
export function hurried(times: number): Record<string, string> {
  return {
    NODE_OPTIONS: hurriedArgument,
    CONFORMANCE_CLOCK_TIMES: String(times),
  };
}
