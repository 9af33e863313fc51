import type { Run, RunStep } from "../contract/run.ts";
import { isActive } from "../contract/runStatus.ts";
import type { Translate } from "./refusalText.ts";

/** A stretch of time, in milliseconds since 1970; it has no end while it goes on. */
interface Span {
  readonly from: number;
  readonly to?: number | undefined;
}

/** A bar of the timeline: a step that has begun, or, without `step`, the wait for a slot. */
export interface TimelineBar extends Span {
  readonly step?: TimedStep;
}

/** How a run spent its time: its wait for a slot and its steps, on one axis from its start request to its end. */
export interface Timeline extends Span {
  readonly bars: readonly [TimelineBar, ...TimelineBar[]];
}

/** The fields of a run that its timeline shows. */
interface TimedRun extends Pick<Run, "status" | "askedAt" | "createdAt" | "stoppedAt"> {
  readonly steps?: readonly TimedStep[] | undefined;
}

type TimedStep = Pick<RunStep, "name" | "status" | "startedAt" | "stoppedAt" | "attempts" | "cleanup">;

/** @returns undefined for a run without bars. */
export function timelineOf(run: TimedRun): Timeline | undefined {
  const asked = readInstant(run.askedAt);
  const created = readInstant(run.createdAt);
  const stopped = readInstant(run.stoppedAt);
  const hasWaited = asked !== undefined && created !== undefined && asked < created;
  const [first, ...others] = [
    ...(hasWaited ? [{ from: asked, to: created }] : []),
    ...(run.steps ?? []).flatMap((timed): TimelineBar[] => {
      const { name, status, startedAt, stoppedAt, attempts, cleanup } = timed;
      const from = readInstant(startedAt);
      const step = { name, status, ...(attempts && { attempts }), ...(cleanup && { cleanup }) };
      return from === undefined ? [] : [{ step, from, to: readInstant(stoppedAt) ?? stopped }];
    }),
  ];
  if (first === undefined) return undefined;
  const bars: Timeline["bars"] = [first, ...others];
  // The runner's clock may differ from the service's. A step keeps the length that its runner reports, and the axis includes it.
  const from = Math.min(created ?? first.from, ...bars.map((bar) => bar.from));
  if (isActive(run)) return { from, bars };
  return { from, to: Math.max(stopped ?? from, ...bars.map((bar) => bar.to ?? bar.from)), bars };
}

/** Notes on a step besides its type and status: `3 attempts`, `cleanup`. */
export function stepNotes(
  { attempts = 1, cleanup }: Pick<TimedStep, "attempts" | "cleanup">,
  t: Translate = (text, count) => text.replace("{0}", String(count)),
): string[] {
  return [...(cleanup ? [t("cleanup")] : []), ...(attempts > 1 ? [t("{0} attempts", attempts)] : [])];
}

function readInstant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** The narrowest bar that can be seen, in percent of the axis. */
const narrowest = 0.5;

/** Where a bar begins and how long it is, in percent of the axis. @param now the service's clock. */
export function placeOnAxis(
  { from, to = Number.POSITIVE_INFINITY }: Span,
  axis: Span,
  now: number,
): { readonly start: number; readonly length: number } {
  const end = Math.max(axis.to ?? now, axis.from + 1);
  const share = (instant: number) =>
    (Math.min(Math.max(instant - axis.from, 0), end - axis.from) / (end - axis.from)) * 100;
  const start = Math.min(share(from), 100 - narrowest);
  return { start: rounded(start), length: rounded(Math.max(share(to) - start, narrowest)) };
}

function rounded(percent: number): number {
  return Math.round(percent * 100) / 100;
}
