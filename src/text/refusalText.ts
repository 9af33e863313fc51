import {
  cancelMineCommand,
  type Hint,
  type RefusedStart,
  refusalReport,
  worstOf,
} from "../contract/refusal.ts";
import { duration, timeOfDay } from "./time.ts";

/** Translates a text and fills in its `{0}`, `{1}`, …; `t` of `@vscode/l10n` in the editor. */
export type Translate = (text: string, ...values: readonly (string | number)[]) => string;

/** Leaves a text in English. */
export const english: Translate = (text, ...values) =>
  text.replaceAll(/\{(\d)\}/g, (_, position: string) => String(values[Number(position)]));

/** What is known besides the refusal itself. */
export interface RefusalFacts {
  /** This machine's clock at the refusal, in milliseconds since 1970. */
  readonly now: number;
  /** The org's limit, if known. */
  readonly runsPerDay?: number | undefined;
  /** The hints of the service's own tool, if that tool was refused. */
  readonly hints?: readonly Hint[] | undefined;
}

/**
 * The refusal of one or more starts for people: the reason, then each hint. Another tool's hints keep their wording.
 *
 * @param starts as for {@link refusalReport}.
 */
export function refusalLines(
  starts: readonly [RefusedStart, ...RefusedStart[]],
  facts: RefusalFacts,
  t: Translate,
): { readonly reason: string; readonly hints: readonly string[] } {
  const worst = worstOf(starts);
  const names = starts.map(({ pipeline }) => pipeline).join(", ");
  const why = reasonText(worst, facts, t);
  return {
    reason:
      starts.length === 1
        ? t("{0} was not started: {1}", names, why)
        : t("{0} were not started: {1}", names, why),
    hints:
      facts.hints?.map(({ command, doc }) => `${command} (${doc})`) ??
      refusalReport(...starts).hints.map(({ command }) => hintText(command, worst, t)),
  };
}

/**
 * When the day's count starts again, also as a time on this machine's clock, however wrong that clock is.
 *
 * @param secondsToReset on the service's clock (contract: "Refusals and errors over HTTP").
 * @param now this machine's clock, in milliseconds since 1970.
 */
export function resetText(secondsToReset: number, now: number, t: Translate): string {
  const reset = localReset(secondsToReset, now);
  const left = duration(secondsToReset * 1000);
  return reset === undefined
    ? t("The count starts again at 00:00 UTC, in {0}.", left)
    : t("The count starts again at 00:00 UTC ({0} your time), in {1}.", reset, left);
}

/** The reset's time on this machine's clock, with the parameters of {@link resetText}; undefined if it is midnight here too. */
export function localReset(secondsToReset: number, now: number): string | undefined {
  const reset = new Date(Math.round((now + secondsToReset * 1000) / 60_000) * 60_000);
  return reset.getHours() === 0 && reset.getMinutes() === 0 ? undefined : timeOfDay(reset.getTime());
}

function reasonText(start: RefusedStart, { now, runsPerDay }: RefusalFacts, t: Translate): string {
  const { refusal } = start;
  const limit = limitText(start, runsPerDay, t);
  return refusal.scope === "free-day" ? `${limit} ${resetText(refusal.secondsToReset, now, t)}` : limit;
}

/** Which limit refused a start. */
export function limitText(
  {
    refusal,
    waitedSeconds,
    ownRunId,
  }: Pick<RefusedStart, "waitedSeconds" | "ownRunId"> & {
    readonly refusal: Pick<RefusedStart["refusal"], "scope">;
  },
  runsPerDay: number | undefined,
  t: Translate,
): string {
  switch (refusal.scope) {
    case "free-day":
      return runsPerDay === undefined
        ? t("today's runs are used up.")
        : t("today's {0} runs are used up.", runsPerDay);
    case "org":
      if (ownRunId !== undefined)
        return t("this step's own run, {0}, holds the slot, and keeps it while the step waits.", ownRunId);
      return waitedSeconds === 0
        ? t("another run holds the slot.")
        : t(
            "another run holds the slot, and it did not become free within {0}.",
            duration(waitedSeconds * 1000),
          );
  }
}

function hintText(command: string, { refusal }: RefusedStart, t: Translate): string {
  if (refusal.scope === "free-day") return t("{0}, from then on", command);
  return command === cancelMineCommand
    ? t("{0}, which cancels your runs", command)
    : t("{0}, once the slot is free", command);
}

/** A start request's place in the queue. */
export interface QueuePlace {
  readonly place: number;
  readonly waiting: number;
}

/** `2nd of 3`. */
export function placeText({ place, waiting }: QueuePlace, t: Translate): string {
  return t("{0} of {1}", ordinal(place, t), waiting);
}

function ordinal(place: number, t: Translate): string {
  switch (rules.select(place)) {
    case "one":
      return t("{0}st", place);
    case "two":
      return t("{0}nd", place);
    case "few":
      return t("{0}rd", place);
    default:
      return t("{0}th", place);
  }
}

const rules = new Intl.PluralRules("en", { type: "ordinal" });
