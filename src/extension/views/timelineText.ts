import { t } from "@vscode/l10n";
import type { Run } from "../../contract/run.ts";
import { duration, elapsed } from "../../text/time.ts";
import { placeOnAxis, stepNotes, type TimelineBar, timelineOf } from "../../text/timeline.ts";

const columns = 20;
const longestName = 24;
const mostBars = 20;

/** A run's timeline for a monospaced font, with a line per bar; undefined for a run without bars. */
export function timelineText(run: Run, serviceNow: number): string | undefined {
  const timeline = timelineOf(run);
  if (timeline === undefined) return undefined;
  const rows = timeline.bars.slice(0, mostBars).map((bar) => {
    const { start, length } = placeOnAxis(bar, timeline, serviceNow);
    // Rounds both ends, so that a bar begins where the previous one ends.
    const before = Math.min(columns - 1, Math.round((start / 100) * columns));
    const end = Math.max(before + 1, Math.round(((start + length) / 100) * columns));
    const drawn = `${" ".repeat(before)}${"█".repeat(end - before)}`.padEnd(columns);
    const notes = bar.step === undefined ? [] : stepNotes(bar.step, t);
    return { name: nameOfBar(bar), drawn, took: [lengthText(bar, serviceNow), ...notes].join(" · ") };
  });
  const width = Math.max(...rows.map(({ name }) => [...name].length));
  const lines = rows.map(
    ({ name, drawn, took }) => `${name}${" ".repeat(width - [...name].length)}  ${drawn}  ${took}`,
  );
  const more = timeline.bars.length - rows.length;
  return [...lines, ...(more === 0 ? [] : [t("and {0} more", more)])].join("\n");
}

function nameOfBar({ step }: TimelineBar): string {
  if (step === undefined) return t("Wait for a slot");
  // A step's name may be foreign: it must not break the line or reverse its direction.
  const letters = [...step.name.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()];
  return letters.length <= longestName ? letters.join("") : `${letters.slice(0, longestName - 1).join("")}…`;
}

function lengthText({ from, to }: TimelineBar, serviceNow: number): string {
  return to === undefined ? elapsed(serviceNow - from) : duration(to - from);
}
