import { secondsToReset } from "./day.ts";

/** Why the service made no run (contract: "Limits"). */
export type Refusal =
  | { readonly scope: "org" }
  | {
      readonly scope: "free-day";
      /** To 00:00 UTC, on the service's clock. */
      readonly secondsToReset: number;
    };

/** What a client knows of a reply that made no run. */
export interface RefusingReply {
  readonly status: number;
  readonly body: string;
  readonly date: string | undefined;
  readonly retryAfter: string | undefined;
}

const errorName = "too-many-runs";
/** The name alone, or as the end of a problem's URI. */
const nameAtEnd = /^(?:\S*[/:#])?too-many-runs$/;

/**
 * Reads a refusal out of a reply, whatever its shape: only the error's name and the scope are given, so they are
 * looked for wherever they may stand, and a 429 that says nothing is one of scope `org`, the only 429 that the
 * service's description has. The status of `free-day` is not given, so the name counts under any status.
 *
 * @param now the caller's clock, used only when the service sent neither `Date` nor `Retry-After`.
 * @returns undefined when the reply is no refusal.
 */
export function readRefusal(reply: RefusingReply, now: number): Refusal | undefined {
  if (reply.status < 400) return undefined;
  const texts = stringsOf(parseJson(reply.body));
  const named = texts.some(({ text }) => nameAtEnd.test(text));
  if (!named && reply.status !== 429) return undefined;
  const told = texts.find(
    ({ key, text }) => key === "scope" && (text === "org" || text === "free-day"),
  )?.text;
  const scope = told ?? (texts.some(({ text }) => /\bfree-day\b/.test(text)) ? "free-day" : "org");
  return scope === "free-day"
    ? { scope, secondsToReset: secondsOnServiceClock(reply, now) }
    : { scope: "org" };
}

function secondsOnServiceClock(reply: RefusingReply, now: number): number {
  const served = reply.date === undefined ? Number.NaN : Date.parse(reply.date);
  if (!Number.isNaN(served)) return secondsToReset(served);
  if (reply.retryAfter !== undefined && /^\d{1,5}$/.test(reply.retryAfter)) return Number(reply.retryAfter);
  return secondsToReset(now);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Far deeper than any error body goes, and far less than the stack holds. */
const deepest = 64;

/** Every text in a JSON value with the name it stands under. */
function stringsOf(value: unknown, key = "", depth = 0): { key: string; text: string }[] {
  if (typeof value === "string") return [{ key, text: value }];
  if (typeof value !== "object" || value === null || depth > deepest) return [];
  return Object.entries(value).flatMap(([name, item]) => stringsOf(item, name, depth + 1));
}

export interface Hint {
  readonly command: string;
  readonly doc: string;
}

/** The object that the tool prints when a limit refuses (service description: "Command-line tool"). */
export interface RefusalReport {
  readonly ok: false;
  readonly command: "run";
  readonly error: { readonly type: "too-many-runs"; readonly message: string };
  readonly hints: readonly Hint[];
  readonly warnings: readonly [];
}

/** A start that a limit refused, and how long it had asked for a place. */
export interface RefusedStart {
  readonly pipeline: string;
  readonly refusal: Refusal;
  readonly waitedSeconds: number;
  /** Options that the caller gave, as words of the command line: without them a retry would be another wish. */
  readonly options?: readonly string[];
}

/**
 * The refusal object for one or more refused pipelines: hints that can be pasted, a cancel hint first where it helps.
 * A used-up day outranks a taken place, as it does at the service: no place that comes free helps today. Of several
 * refusals of one scope the longest wait is told.
 */
export function refusalReport(first: RefusedStart, ...others: readonly RefusedStart[]): RefusalReport {
  const starts = [first, ...others];
  const told = starts.reduce((one, other) => (outranks(other, one) ? other : one));
  const cancel: Hint = {
    command: "pipeline runs cancel --mine",
    doc: "cancels every run in work that your API key started, which gives up its place",
  };
  const doc =
    told.refusal.scope === "free-day"
      ? `retry after ${told.refusal.secondsToReset} s`
      : "retry when the place is free";
  const retries = starts.map((start) => ({ command: retryOf(start), doc }));
  return {
    ok: false,
    command: "run",
    error: { type: errorName, message: refusalMessage(told) },
    hints: told.refusal.scope === "org" ? [cancel, ...retries] : retries,
    warnings: [],
  };
}

/** The command line that asks for the same again, to be pasted into a shell. */
function retryOf({ pipeline, options = [] }: RefusedStart): string {
  const words = pipeline.startsWith("-") ? [...options, "--", pipeline] : [pipeline, ...options];
  return ["pipeline", "run", ...words].map(shellWord).join(" ");
}

function outranks(one: RefusedStart, other: RefusedStart): boolean {
  const secondsToReset = ({ refusal }: RefusedStart) =>
    refusal.scope === "free-day" ? refusal.secondsToReset : 0;
  return (
    secondsToReset(one) > secondsToReset(other) ||
    (secondsToReset(one) === secondsToReset(other) && one.waitedSeconds > other.waitedSeconds)
  );
}

/** One sentence that names the scope and, for `free-day`, the seconds to wait. */
export function refusalMessage({
  refusal,
  waitedSeconds,
}: Pick<RefusedStart, "refusal" | "waitedSeconds">): string {
  switch (refusal.scope) {
    case "free-day":
      return `Scope free-day: all of today's runs are used. The count starts again at 00:00 UTC, in ${refusal.secondsToReset} s.`;
    case "org":
      return waitedSeconds === 0
        ? "Scope org: another run holds the org's place."
        : `Scope org: another run holds the org's place, and it did not come free in ${waitedSeconds} s.`;
    default:
      return refusal satisfies never;
  }
}

/** What a person is told to paste for a run. It does no more than it says, whatever the id is. */
export function runCommand(verb: "show" | "log" | "cancel", runId: string): string {
  return `pipeline runs ${verb} ${runId.startsWith("-") ? "-- " : ""}${shellWord(runId)}`;
}

/** A name or an id as one word of a shell's command line. */
function shellWord(word: string): string {
  return /^[\w./:@%+-][\w./:@%+=-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
