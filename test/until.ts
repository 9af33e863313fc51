import { setTimeout as pause } from "node:timers/promises";

/** Resolves once the condition holds; the test's own time limit is the only one. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(10);
}
