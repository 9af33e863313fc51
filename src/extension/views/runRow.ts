import { t } from "@vscode/l10n";
import type { MarkdownString, TreeItem } from "vscode";
import {
  type Changes,
  listedReason,
  nameOf,
  type Run,
  type RunStep,
  reasonLine,
  startedBy,
} from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { changeNotes, commitText } from "../../text/changes.ts";
import { duration, elapsed } from "../../text/time.ts";
import { placeOnAxis, stepNotes, type TimelineBar, timelineOf } from "../../text/timeline.ts";
import type { RunListState } from "../session/runList.ts";
import { inputsText, momentText, outputsText, shortId, statusText } from "../window/runText.ts";
import type { GroupNode, NoteNode, OlderNode, RunNode, RunRowNode, StepNode } from "./runTree.ts";

/** What a row needs to show whose a run is and how long it takes. */
export interface RowContext {
  /** The id of this window's key. */
  readonly me: string;
  /** The service's clock and this machine's, in milliseconds since 1970. */
  readonly serviceNow: number;
  readonly now: number;
  /** Whether a row names its run's project, because the listed runs are from several. */
  readonly namesProjects?: boolean;
}

/** @param now this machine's clock, in milliseconds since 1970. */
export function rowContext(list: RunListState, now: number): RowContext {
  return list.kind === "listed"
    ? { me: list.me, serviceNow: now + list.clockAhead, now }
    : { me: "", serviceNow: now, now };
}

/** The scheme of the row for older runs, see `loadOnScroll`. */
export const olderScheme = "pipeline-runs-older";

export function runViewRow(node: RunNode, seen: RowContext): Row {
  switch (node.kind) {
    case "group":
      return groupRow(node);
    case "run":
      return runRow(node, seen);
    case "step":
      return stepRow(node, seen);
    case "note":
      return noteRow(node);
    case "older":
      return olderRow(node);
  }
}

const longestValues = 300;
/** A tooltip shows only diffs of up to this many lines. */
const mostDiffLines = 12;

/** The tooltip of a run: its facts, and the times of its steps as bars. */
export function runTooltip(
  run: Run,
  { me, serviceNow, now }: RowContext,
  changes?: Changes,
): readonly TooltipLine[] {
  const { actor, agent, createdAt, timeLimitSeconds } = run;
  const began = createdAt && new Date(Date.parse(createdAt) - (serviceNow - now)).toLocaleString();
  const facts: readonly { readonly name?: string; readonly text: string | undefined }[] = [
    { name: nameOf(run), text: statusText(run.status) },
    // Without the output that a reason may include, which is in the log.
    { text: reasonLine(run, me) },
    { name: t("Inputs"), text: inputsText(run, longestValues) },
    { name: t("Outputs"), text: outputsText(run, longestValues) },
    { name: t("Run"), text: run.runId },
    { name: t("Project"), text: run.project },
    { name: t("Started"), text: began },
    { name: t("Started by"), text: actor === me ? actor && t("you ({0})", actor) : startedBy(run) },
    { name: t("Agent"), text: agent },
    { name: t("Took"), text: run.stoppedAt && tookText(createdAt, run.stoppedAt, serviceNow) },
    {
      name: t("Time limit"),
      text: timeLimitSeconds === undefined ? undefined : elapsed(timeLimitSeconds * 1000),
    },
    { name: t("Runner"), text: run.runner },
    { name: t("Commit"), text: run.commit && commitText(run.commit, t) },
    ...(changes?.lastPassed === undefined
      ? []
      : changeNotes(run, changes, t).map((text) => ({ name: t("Since it last succeeded"), text }))),
  ];
  const diff = Object.values(changes?.diffs ?? {}).join("\n");
  const timeline = timelineText(run, serviceNow);
  return [
    ...facts.flatMap(({ text, ...line }) => (text === undefined || text === "" ? [] : [{ ...line, text }])),
    ...(diff === "" || diff.split("\n").length > mostDiffLines ? [] : [{ text: diff, isCode: true }]),
    ...(timeline === undefined ? [] : [{ text: timeline, isCode: true }]),
  ];
}

function groupRow({ group }: GroupNode): Row {
  const { label, spoken } = {
    active: { label: t("Running"), spoken: t("Running") },
    today: { label: t("Today"), spoken: t("Today, since 00:00 UTC") },
    earlier: { label: t("Earlier"), spoken: t("Earlier runs") },
    ended: { label: t("Finished"), spoken: t("Finished runs") },
  }[group];
  return { id: `groups/${group}`, label, folding: "expanded", tokens: ["group"], spoken };
}

function runRow({ run, runId, isUnfolded }: RunRowNode, seen: RowContext): Row {
  const { me, serviceNow, now, namesProjects = false } = seen;
  const active = isActive(run);
  const status = statusText(run.status);
  const took = tookText(run.createdAt, run.stoppedAt, serviceNow);
  const { actor, agent, createdAt } = run;
  const { actorName: starter = actor && shortId(actor) } = run;
  const reason = listedReason(run, me);
  const when =
    createdAt === undefined ? undefined : momentText(Date.parse(createdAt) - (serviceNow - now), now);
  const began = when && t("since {0}", when);
  const state = active ? when && t("{0} since {1}", status, when) : took && t("{0} after {1}", status, took);
  const isOthers = actor !== undefined && actor !== me;
  const project = namesProjects ? run.project : undefined;
  const through = agent && t("agent {0}", agent);
  // A narrow view cuts the end, so what the icon shows too comes after the times.
  const parts = [
    through,
    ...(active ? [began] : [when, took]),
    status,
    project,
    isOthers && starter ? t("by {0}", starter) : undefined,
    reason,
  ];
  const who = actor && (isOthers ? t("started by {0}", run.actorName ?? actor) : t("started by you"));
  return {
    id: `runs/${runId}`,
    label: nameOf(run),
    description: parts.filter(Boolean).join(" · "),
    icon: statusIcon(run),
    folding: isUnfolded ? "expanded" : "collapsed",
    tokens: [
      "run",
      ...(active ? ["inWork"] : ["ended"]),
      ...(active && run.status !== "cancelling" ? ["cancellable"] : []),
    ],
    spoken: [
      nameOf(run),
      state || status,
      active ? undefined : when,
      project && t("project {0}", project),
      who,
      through,
      reason,
    ]
      .filter(Boolean)
      .join(", "),
    action: { kind: "log", runId, pipeline: nameOf(run) },
  };
}

function stepRow({ runId, pipeline, index, step, mayBegin }: StepNode, { serviceNow }: RowContext): Row {
  const status = statusText(step.status);
  const took = stepTime(step, serviceNow);
  const notes = stepNotes(step, t);
  const [first = ""] = (step.message ?? "").trim().split("\n");
  return {
    id: `runs/${runId}/steps/${index}`,
    label: step.name,
    description: [took, status, ...notes, first].filter((part) => part !== "").join(" · "),
    icon: statusIcon(step),
    folding: "none",
    // Not for the first step, where every run begins.
    tokens: ["step", ...(index > 0 && mayBegin ? ["failedStep"] : [])],
    spoken: t(
      "Step {0}, {1}, {2} {3}",
      step.name,
      [status, ...notes].join(", "),
      isRunning(step) ? "" : took,
      first,
    ).trim(),
    action: { kind: "log", runId, pipeline },
  };
}

/** The tooltip of a step: its whole message. */
export function stepTooltip(step: RunStep, { serviceNow }: RowContext): readonly TooltipLine[] {
  return [
    { name: step.name, text: [statusText(step.status), ...stepNotes(step, t)].join(", ") },
    ...(step.message === undefined ? [] : [{ text: step.message }]),
    { name: t("Resource type"), text: step.type },
    ...(step.startedAt === undefined ? [] : [{ name: t("Took"), text: stepTime(step, serviceNow) }]),
  ];
}

function noteRow({ runId, text, isFault }: NoteNode): Row {
  return {
    id: `runs/${runId}/note`,
    label: text,
    ...(isFault ? { icon: { id: "warning", color: "list.warningForeground" } } : {}),
    folding: "none",
    tokens: ["note"],
    spoken: text,
  };
}

function olderRow({ behind, isLoadedWhenDrawn }: OlderNode): Row {
  return {
    id: `older/${behind}`,
    label: t("Load Older Runs"),
    icon: { id: "history" },
    folding: "none",
    tokens: ["older"],
    spoken: t("Load older runs"),
    action: { kind: "command", command: "pipelineRuns.loadMore" },
    ...(isLoadedWhenDrawn ? { address: `${olderScheme}:/${encodeURIComponent(behind)}` } : {}),
  };
}

/** How long something took, or has taken so far; empty if its start isn't known. */
function tookText(from: string | undefined, to: string | undefined, serviceNow: number): string {
  if (from === undefined) return "";
  return to === undefined
    ? elapsed(serviceNow - Date.parse(from))
    : duration(Date.parse(to) - Date.parse(from));
}

function stepTime(step: RunStep, serviceNow: number): string {
  const { startedAt, stoppedAt } = step;
  return stoppedAt === undefined && !isRunning(step) ? "" : tookText(startedAt, stoppedAt, serviceNow);
}

/** Whether a step is running, so that its time moves. */
export function isRunning({ status, startedAt, stoppedAt }: RunStep): boolean {
  // A step that was skipped or not reached has neither time.
  return startedAt !== undefined && isActive({ status, stoppedAt });
}

/** A line of a tooltip: a bold name with its text, or a text alone. Texts may be foreign. */
export interface TooltipLine {
  readonly name?: string;
  readonly text: string;
  /** Whether the text is shown in a code block. */
  readonly isCode?: boolean;
}

/** A row of a view, from which the editor's item is created. */
export interface Row {
  /** Stable for the same thing, so that rows don't jump or collapse. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  /** A codicon, and the theme colour for it. */
  readonly icon?: { readonly id: string; readonly color?: string };
  readonly folding: "none" | "collapsed" | "expanded";
  /** Words that the manifest's `when` clauses check. */
  readonly tokens: readonly string[];
  /** The text for screen readers. */
  readonly spoken: string;
  /** The action on a click or Enter. */
  readonly action?: Action;
  /** A URI whose decorations the editor requests when it draws the row. */
  readonly address?: string;
}

export interface RowItems {
  readonly treeItem: (row: Row) => TreeItem;
  readonly markdown: (lines: readonly TooltipLine[]) => MarkdownString;
}

/**
 * A command, a run's log, or a position in a file to open. Commands have no arguments: the editor forgets a row's arguments as
 * soon as the row changes, and a click before the redraw would find no command.
 */
type Action =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "log"; readonly runId: string; readonly pipeline: string }
  | { readonly kind: "open"; readonly file: string; readonly line?: number; readonly column?: number };

/** The icon of a status, in the themes' colours for test results. */
export function statusIcon(of: Pick<Run | RunStep, "status" | "stoppedAt">): NonNullable<Row["icon"]> {
  const unknown = isActive(of) ? { id: "loading~spin" } : { id: "question", color: "testing.iconUnset" };
  return icons.get(of.status) ?? unknown;
}

const icons: ReadonlyMap<string, NonNullable<Row["icon"]>> = new Map([
  ["cancelling", { id: "stop-circle", color: "testing.iconSkipped" }],
  ["succeeded", { id: "pass", color: "testing.iconPassed" }],
  ["failed", { id: "error", color: "testing.iconFailed" }],
  ["timed-out", { id: "watch", color: "testing.iconFailed" }],
  ["lost", { id: "debug-disconnect", color: "testing.iconErrored" }],
  ["cancelled", { id: "circle-slash", color: "testing.iconSkipped" }],
  ["stopped", { id: "circle-slash", color: "testing.iconSkipped" }],
  // The editor shows a skipped test in this way.
  ["skipped", { id: "debug-step-over", color: "testing.iconSkipped" }],
  ["not-reached", { id: "circle-outline", color: "testing.iconUnset" }],
]);

const columns = 20;
const longestName = 24;
const mostBars = 20;

/** A run's timeline for a monospaced font, with a line per bar; undefined for a run without bars. */
function timelineText(run: Run, serviceNow: number): string | undefined {
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
