/** In the environment of a process: by how many milliseconds its wall clock is off. */
export const clockOffVariable = "PIPELINE_RUNS_TEST_CLOCK_OFF";

const shifted = `--import=${new URL("./shiftedDate.mjs", import.meta.url)}`;

/** The environment of a process whose wall clock is off by so many hours. */
export function clockOff(hours: number): Record<string, string> {
  return { NODE_OPTIONS: shifted, [clockOffVariable]: String(hours * 3_600_000) };
}

/** The same of a process whose wall clock is off by as many milliseconds as a file says, which has to be there. */
export function clockIn(file: string): Record<string, string> {
  return { NODE_OPTIONS: shifted, PIPELINE_RUNS_TEST_CLOCK_FILE: file };
}

/** The environment of a process whose time passes so many times as fast. */
export function hurried(times: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${new URL("./hurriedClock.mjs", import.meta.url)}`,
    PIPELINE_RUNS_TEST_CLOCK_TIMES: String(times),
  };
}
