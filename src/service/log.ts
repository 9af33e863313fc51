import { controlCharacters } from "../contract/controlCharacters.ts";
import { describeError, PipelineError } from "../contract/errors.ts";
import { hideSecrets } from "./apiSecret.ts";

const levels = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof levels)[number];

export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

/**
 * One JSON line an entry, from the level `least` on. Callers pass ids, never keys or what a request carried; a key that
 * gets in all the same, inside an error's message, is not written.
 */
export function lineLog(write: (line: string) => void, now: () => number, least: LogLevel = "info"): Log {
  return (level, message, facts = {}) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const entry: Record<string, unknown> = { time: new Date(now()).toISOString(), level, message };
    for (const name in facts) {
      const fact = facts[name];
      entry[name] = fact instanceof Error ? describeError(fact) : fact;
    }
    write(`${hideSecrets(escaped(JSON.stringify(entry)))}\n`);
  };
}

const driving = new RegExp(`[${controlCharacters}]`, "gu");

/** JSON escapes only some of what drives a terminal, and a log is looked at in one; it may hold the names of others' files. */
function escaped(json: string): string {
  return json.replace(driving, (letter) =>
    letter
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The level that `PIPELINE_LOG_LEVEL` names; `info` without it. @throws PipelineError `usage` for any other word. */
export function logLevel(env: Readonly<Record<string, string | undefined>>): LogLevel {
  const named = env["PIPELINE_LOG_LEVEL"];
  if (named === undefined || named === "") return "info";
  const level = levels.find((known) => known === named);
  if (level !== undefined) return level;
  throw new PipelineError(
    "usage",
    `PIPELINE_LOG_LEVEL should be one of ${levels.join(", ")}, not ${named}.`,
    {
      next: "Set it to one of them, or leave it out.",
    },
  );
}
