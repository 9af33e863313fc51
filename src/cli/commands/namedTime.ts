import { PipelineError } from "../../contract/errors.ts";
import { parseDuration } from "../../pipeline/file/duration.ts";

/** A span in milliseconds since 1970; undefined means unbounded. */
interface Span {
  readonly since: number | undefined;
  /** Exclusive. */
  readonly until: number | undefined;
}

/**
 * Reads a span between two named times; a day counts from its beginning to its end.
 * @param now in milliseconds since 1970.
 * @throws PipelineError `usage` for a text that isn't a time, for a beginning in the future, and for an empty span.
 */
export function readSpan(named: Readonly<Record<keyof Span, string | undefined>>, now: number): Span {
  const timeOf = (bound: keyof Span): NamedTime | undefined => {
    const text = named[bound];
    const time = text === undefined ? undefined : readNamedTime(text, now);
    if (text !== undefined && time === undefined) throw usage(`--${bound} names no time.`);
    return time;
  };
  const [since, until] = [timeOf("since")?.from, timeOf("until")?.to];
  if (since !== undefined && since > now) throw usage("--since names no time in the past.");
  if (since !== undefined && until !== undefined && until <= since) {
    throw usage("There is no time between --since and --until.");
  }
  return { since, until };
}

function usage(message: string): PipelineError {
  const next = "Name one as 3h, 2d, today, yesterday, monday, 2026-11-24 or 2026-11-24T10:00.";
  return new PipelineError("usage", message, { next });
}

/** A time as a person names it: an instant, or a day from its 00:00 to the next. In milliseconds since 1970. */
export interface NamedTime {
  readonly from: number;
  /** The same as `from` for an instant. */
  readonly to: number;
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const isoTime = /^(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * Reads a time as a person names it, in this machine's time zone: `3h` or `2d` ago, `today`, `yesterday`, a weekday (the last one
 * that has begun), `2026-11-24`, and `2026-11-24T10:00`, optionally with its own time zone.
 * @param now in milliseconds since 1970.
 * @returns undefined for anything else.
 */
export function readNamedTime(text: string, now: number): NamedTime | undefined {
  const word = text.toLowerCase();
  const [, days] = /^(\d{1,5})d$/.exec(word) ?? [];
  const ago = days === undefined ? parseDuration(word) : Number(days) * 86_400_000;
  if (ago !== undefined) return { from: now - ago, to: now - ago };
  const before = daysBeforeToday(word, new Date(now).getDay());
  if (before !== undefined) return dayOf(new Date(now), -before);
  const [, date = text] = isoTime.exec(text) ?? [];
  const day = readDay(date);
  if (date === text || day === undefined) return day;
  const instant = Date.parse(text.replace(" ", "T"));
  return Number.isNaN(instant) ? undefined : { from: instant, to: instant };
}

function daysBeforeToday(word: string, weekday: number): number | undefined {
  if (word === "today") return 0;
  if (word === "yesterday") return 1;
  const named = weekdays.findIndex((each) => each === word || each.slice(0, 3) === word);
  return named === -1 ? undefined : (weekday - named + 7) % 7;
}

function readDay(date: string): NamedTime | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date) ?? [];
  const read = dayOf(new Date(Number(year), Number(month) - 1, 1), Number(day) - 1);
  // `Date` moves a day that the month doesn't have into the next month.
  return new Date(read.from).getMonth() === Number(month) - 1 ? read : undefined;
}

/** The day `later` days after that of a time. Adds calendar days, since a day may have 23 or 25 hours. */
function dayOf(time: Date, later: number): NamedTime {
  const at = (days: number) => new Date(time.getFullYear(), time.getMonth(), time.getDate() + days).getTime();
  return { from: at(later), to: at(later + 1) };
}
