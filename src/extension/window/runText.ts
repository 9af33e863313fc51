import { t } from "@vscode/l10n";
import { inputText } from "../../contract/pipelines.ts";
import type { Run } from "../../contract/run.ts";
import { controlCharacters } from "../../text/controlCharacters.ts";
import { timeOfDayFormat } from "../../text/time.ts";

/**
 * A moment in the person's own time: the time of day, or the date on another day. It stays true, so a row needs no redraw.
 * @param at and `now` in milliseconds since 1970.
 */
export function momentText(at: number, now: number): string {
  const moment = new Date(at);
  const today = new Date(now);
  if (moment.toDateString() === today.toDateString()) {
    return timeOfDay.format(moment);
  }
  return (moment.getFullYear() === today.getFullYear() ? dayOfYear : dayOfAnyYear).format(moment);
}

// Created once, since creating one is slow and there may be thousands of rows.
const timeOfDay = new Intl.DateTimeFormat([], timeOfDayFormat);
const dayOfYear = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });
const dayOfAnyYear = new Intl.DateTimeFormat([], { day: "numeric", month: "short", year: "numeric" });

/** A status for people; an unknown one stays unchanged (contract: "Endpoints"). */
export function statusText(status: string): string {
  const known = new Map([
    ["running", t("running")],
    ["cancelling", t("cancelling")],
    ["succeeded", t("succeeded")],
    ["failed", t("failed")],
    ["cancelled", t("cancelled")],
    ["timed-out", t("timed out")],
    ["lost", t("lost")],
    ["skipped", t("skipped")],
    // For a step whose run ended while it was running.
    ["stopped", t("stopped")],
    ["not-reached", t("not reached")],
  ]);
  return known.get(status) ?? status;
}

/** Whether runs are from several projects, so that each run's project must be shown. */
export function areOfSeveralProjects(runs: readonly Run[]): boolean {
  return new Set(runs.flatMap(({ project }) => project ?? [])).size > 1;
}

/** A shortened id for a row, such as `key_…7F3A`; the tooltip shows all of it. */
export function shortId(id: string): string {
  const [, kind = "", rest = ""] = /^([a-z]+_)?(.*)$/su.exec(id) ?? [];
  return rest.length <= 8 ? id : `${kind}…${rest.slice(-4)}`;
}

/** The first line, and the last, which is usually the most telling one of a program's output. */
export function firstAndLastLine(text: string): string {
  const [first = "", ...others] = text.trim().split("\n");
  const last = others.at(-1)?.trim();
  return last === undefined ? first : `${first} ${last}`;
}

/** A run's inputs on one line, `region=eu, lamps=2`, cut to a length; undefined if there are none. */
export function inputsText({ inputs = {} }: Pick<Run, "inputs">, longest: number): string | undefined {
  const values = Object.entries(inputs).map(([name, value]) => inputText(name, value));
  return values.length === 0 ? undefined : shortText(values.join(", "), longest);
}

/** A run's outputs on one line, as {@link inputsText}; lists and maps as JSON. */
export function outputsText({ outputs = {} }: Pick<Run, "outputs">, longest: number): string | undefined {
  const values = Object.entries(outputs).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return values.length === 0 ? undefined : shortText(values.join(", "), longest);
}

const hidden = new RegExp(`[\\s${controlCharacters}]+`, "gu");

/** A foreign text on one line, without control characters. */
export function toOneLine(text: string): string {
  return text.replace(hidden, " ").trim();
}

/** {@link toOneLine}, cut to a length. */
export function shortText(text: string, longest: number): string {
  const line = toOneLine(text);
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
