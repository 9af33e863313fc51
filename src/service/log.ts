import { describeError } from "../contract/errors.ts";

export type Log = (
  level: "info" | "error",
  message: string,
  facts?: Readonly<Record<string, unknown>>,
) => void;

/** One JSON line an entry. Callers pass ids, never keys or what a request carried. */
export function lineLog(write: (line: string) => void, now: () => number): Log {
  return (level, message, facts = {}) => {
    const told = Object.entries(facts).map(([name, fact]) => [
      name,
      fact instanceof Error ? describeError(fact) : fact,
    ]);
    write(
      `${JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...Object.fromEntries(told) })}\n`,
    );
  };
}
