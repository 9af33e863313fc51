import { secondsToReset } from "./limits.ts";
import { type InputValue, inputText } from "./pipelines.ts";
import type { StartRequest } from "./run.ts";
import { deepestJson } from "./wire.ts";

/** Why the service made no run (contract: "Limits"). */
export type Refusal =
  | { readonly scope: "org" }
  | {
      readonly scope: "free-day";
      /** Until 00:00 UTC, on the service's clock. */
      readonly secondsToReset: number;
    };

/** A reply to a start that may be a refusal. */
export interface RefusingReply {
  readonly status: number;
  readonly body: string;
  readonly headers: { get(name: string): string | null };
}

const errorName = "too-many-runs";
export const cancelMineCommand = "pipeline runs cancel --mine";
/** The error's name, alone or at the end of a problem type's URI. */
const nameAtEnd = /^(?:\S*[/:#])?too-many-runs$/;

/**
 * Reads a refusal from a reply of any shape: the contract fixes only the error's name and the scope, so both are found wherever
 * they stand. It doesn't fix the status of `free-day`, so the name counts under any status; a 429 with neither has scope `org`.
 *
 * @param now the caller's clock, used only for a reply with neither `Date` nor `Retry-After`.
 * @returns undefined if the reply isn't a refusal.
 */
export function readRefusal(reply: RefusingReply, now: number): Refusal | undefined {
  if (reply.status < 400) return undefined;
  const texts = stringsOf(parseJson(reply.body));
  const named = texts.some(({ text }) => nameAtEnd.test(text));
  if (!named && reply.status !== 429) return undefined;
  const namedScope = texts.find(
    ({ key, text }) => key === "scope" && (text === "org" || text === "free-day"),
  )?.text;
  const scope = namedScope ?? (texts.some(({ text }) => /\bfree-day\b/.test(text)) ? "free-day" : "org");
  return scope === "free-day"
    ? { scope, secondsToReset: secondsOnServiceClock(reply, now) }
    : { scope: "org" };
}

function secondsOnServiceClock({ headers }: RefusingReply, now: number): number {
  const served = Date.parse(headers.get("date") ?? "");
  if (!Number.isNaN(served)) return secondsToReset(served);
  const retryAfter = headers.get("retry-after") ?? "";
  if (/^\d{1,5}$/.test(retryAfter)) return Number(retryAfter);
  return secondsToReset(now);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Every string in a JSON value with its key. */
function stringsOf(value: unknown, key = "", depth = 0): { key: string; text: string }[] {
  if (typeof value === "string") return [{ key, text: value }];
  if (typeof value !== "object" || value === null || depth > deepestJson) return [];
  return Object.entries(value).flatMap(([name, item]) => stringsOf(item, name, depth + 1));
}

export interface Hint {
  readonly command: string;
  readonly doc: string;
}

/** The object that the tool prints when a limit refuses (contract: "The command-line tool"). */
export interface RefusalReport {
  readonly ok: false;
  readonly command: "run";
  readonly error: { readonly type: "too-many-runs"; readonly message: string };
  readonly hints: readonly Hint[];
  readonly warnings: readonly [];
}

/** A start that a limit refused, and how long it waited for a slot. */
export interface RefusedStart {
  readonly pipeline: string;
  readonly refusal: Refusal;
  readonly waitedSeconds: number;
  /** The run that holds the slot, if the caller is one of its steps. */
  readonly ownRunId?: string;
  /** The caller's options as command-line words, which the retry repeats. */
  readonly options?: readonly string[];
}

/**
 * The refusal object for one or more refused pipelines, with hints that can be pasted; the cancel hint comes first where it
 * helps. Scope `free-day` outranks `org`, as at the service (contract: "Limits"); within a scope the longest wait counts.
 */
export function refusalReport(first: RefusedStart, ...others: readonly RefusedStart[]): RefusalReport {
  const starts = [first, ...others] as const;
  const worst = worstOf(starts);
  const cancel: Hint = {
    command: cancelMineCommand,
    doc: "cancels every active run that your API key started, which gives up its slot",
  };
  const doc =
    worst.refusal.scope === "free-day"
      ? `retry after ${worst.refusal.secondsToReset} s`
      : "retry when the slot is free";
  const retries = starts.map((start) => ({ command: startCommand(start), doc }));
  return {
    ok: false,
    command: "run",
    error: { type: errorName, message: refusalMessage(worst) },
    hints: worst.refusal.scope === "org" && worst.ownRunId === undefined ? [cancel, ...retries] : retries,
    warnings: [],
  };
}

/** The command that starts a pipeline, ready to paste. */
export function startCommand({ pipeline, options = [] }: Pick<RefusedStart, "pipeline" | "options">): string {
  const words = pipeline.startsWith("-") ? [...options, "--", pipeline] : [pipeline, ...options];
  return ["pipeline", "run", ...words].map(shellWord).join(" ");
}

/** The parameters of a start request, except its pipeline, as command-line options. */
export function startOptions({
  project,
  timeLimitSeconds,
  fromStep,
  inputs = {},
}: Pick<StartRequest, "project" | "timeLimitSeconds" | "fromStep" | "inputs">): readonly string[] {
  return [
    ...(project === undefined ? [] : ["--project", project]),
    ...(timeLimitSeconds === undefined ? [] : ["--time-limit", String(timeLimitSeconds)]),
    ...(fromStep === undefined ? [] : ["--from", fromStep]),
    ...Object.entries(inputs).flatMap(([name, value]) => ["--input", inputText(name, inputWord(value))]),
  ];
}

/** Escapes a leading `@`, which would name a file. */
function inputWord(value: InputValue): InputValue {
  return typeof value === "string" && value.startsWith("@") ? `@${value}` : value;
}

/** The refusal that counts: `free-day` before `org`, then the longest wait. */
export function worstOf(starts: readonly [RefusedStart, ...RefusedStart[]]): RefusedStart {
  return starts.reduce((one, other) => (outranks(other, one) ? other : one));
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
  ownRunId,
}: Pick<RefusedStart, "refusal" | "waitedSeconds" | "ownRunId">): string {
  switch (refusal.scope) {
    case "free-day":
      return `Scope free-day: all of today's runs are used. The count starts again at 00:00 UTC, in ${refusal.secondsToReset} s.`;
    case "org":
      if (ownRunId !== undefined)
        return `Scope org: this step's own run, ${ownRunId}, holds the org's slot, and keeps it while the step waits.`;
      return waitedSeconds === 0
        ? "Scope org: another run holds the org's slot."
        : `Scope org: another run holds the org's slot, and it did not come free in ${waitedSeconds} s.`;
  }
}

/** A command line for a run, safe to paste whatever its id contains. */
export function runCommand(
  verb: "show" | "log" | "cancel" | "diff" | "download" | "page",
  runId: string,
): string {
  return `pipeline ${verb === "page" ? "" : "runs "}${verb} ${runId.startsWith("-") ? "-- " : ""}${shellWord(runId)}`;
}

/** Quotes a word for a POSIX shell where needed. */
export function shellWord(word: string): string {
  return /^[\w./:@%+-][\w./:@%+=-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
