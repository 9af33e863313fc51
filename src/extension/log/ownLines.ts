import { t } from "@vscode/l10n";
import { runCommand } from "../../contract/refusal.ts";
import { actorText, nameOf, type Run, type RunStep, reasonText } from "../../contract/run.ts";
import { failedStep } from "../../contract/runStatus.ts";
import type { SgrStyle } from "../../text/escapeSequences.ts";
import { withoutRepeatedLines } from "../../text/failureLines.ts";
import { tookText } from "../../text/time.ts";
import { stepNotes } from "../../text/timeline.ts";
import { inputsText, outputsText, statusText, toOneLine } from "../window/runText.ts";
import { findFileLinks } from "./fileLinks.ts";
import { indented, ownLine, type TextLine, textStyles } from "./textLine.ts";

const margin = "  ";
const mostOfMessage = 20;
const longestValues = 500;

export interface HeadDeps {
  /** The id of this window's key, if known. */
  readonly me: string | undefined;
  /** The number of lines dropped from the document. */
  readonly leftOut: number;
  readonly timeText: (instant: string) => string;
}

/** The first lines: the run, its status, and when and by whom it was started. */
export function headLines(run: Run, { me, leftOut, timeText }: HeadDeps): TextLine[] {
  const { mark, look } = statusStyle(run.status);
  const took = tookText(run.createdAt, run.stoppedAt);
  const status = statusText(toOneLine(run.status));
  const started = startedText(run, me, timeText);
  const lines = [
    ownLine(
      { text: `${mark} `, style: look },
      { text: toOneLine(nameOf(run)), style: textStyles.strong },
      " ",
      { text: status, style: look },
      ...(took === undefined ? [] : [` · ${took}`]),
    ),
    ...(started === undefined ? [] : [ownLine({ text: started, style: textStyles.quiet })]),
    ownLine({
      text:
        run.project === undefined
          ? t("Run ID {0}", toOneLine(run.runId))
          : t("Run {0}, project {1}", toOneLine(run.runId), toOneLine(run.project)),
      style: textStyles.quiet,
    }),
  ];
  const inputs = inputsText(run, longestValues);
  const outputs = outputsText(run, longestValues);
  for (const text of [inputs && t("Inputs: {0}", inputs), outputs && t("Outputs: {0}", outputs)]) {
    if (text !== undefined) lines.push(ownLine({ text, style: textStyles.quiet }));
  }
  // A failed step's own lines say more.
  const reason = reasonText(run, me);
  if (reason !== undefined && failedStep(run)?.step.status !== "failed") {
    lines.push(...reason.split("\n").map((line) => ownLine(toOneLine(line))));
  }
  if (leftOut > 0) lines.push(leftOutLine(leftOut, run.runId));
  return lines;
}

/** When and by whom a run was started, and through which agent, if known. */
function startedText(run: Run, me: string | undefined, timeText: HeadDeps["timeText"]): string | undefined {
  const started = starterText(run, me, timeText);
  if (started === undefined || run.agent === undefined) return started;
  return t("{0}, through the agent {1}", started, toOneLine(run.agent));
}

function starterText(run: Run, me: string | undefined, timeText: HeadDeps["timeText"]): string | undefined {
  const { createdAt, actor } = run;
  const starter = actorText(run);
  if (createdAt === undefined) return starter && t("Started by {0}", toOneLine(starter));
  if (starter === undefined) return t("Started {0}", timeText(createdAt));
  return actor === me
    ? t("Started {0} by you", timeText(createdAt))
    : t("Started {0} by {1}", timeText(createdAt), toOneLine(starter));
}

/** Says that lines are missing, and how to get them. */
export function leftOutLine(count: number, runId: string): TextLine {
  const command = runCommand("log", toOneLine(runId));
  const text =
    count === 1
      ? t("1 earlier line is not shown. Full log: {0}", command)
      : t("{0} earlier lines are not shown. Full log: {1}", count.toLocaleString(), command);
  return ownLine({ text, style: textStyles.ended });
}

/**
 * Why a run failed: the step, its message, and its last lines.
 * @param mayBegin whether a new run can begin at the step.
 * @param isOutputNext whether the step's output follows, which the last lines would repeat.
 */
export function failedStepLines(
  step: RunStep,
  last: readonly TextLine[],
  { mayBegin, isOutputNext }: { readonly mayBegin: boolean; readonly isOutputNext: boolean },
): TextLine[] {
  const { mark, look } = statusStyle(step.status);
  // Drops what the message repeats of the last output, which the log shows with its colours.
  const own = withoutRepeatedLines(
    (step.message ?? "").split(/\r?\n/).map(toOneLine),
    last.map(({ text }) => toOneLine(text)),
  );
  const shown = own.length > mostOfMessage ? [...own.slice(0, mostOfMessage), "…"] : own;
  const lines = [
    ownLine(
      { text: `${mark} ${t("Failed step: {0}", stepName(step, 0))}`, style: look },
      { text: ` · ${stepDetail(step)}`, style: textStyles.quiet },
    ),
    ...shown.map((text) => indented({ ...ownLine(text), links: findFileLinks(text) }, margin)),
    ...(mayBegin ? [runFromStepLine()] : []),
  ];
  if (isOutputNext || last.length === 0) return lines;
  const heading = last.length === 1 ? t("Its last line:") : t("Its last {0} lines:", last.length);
  return [
    ...lines,
    ownLine({ text: margin + heading, style: textStyles.quiet }),
    ...last.map((line) => indented(line, margin + margin)),
  ];
}

function runFromStepLine(): TextLine {
  const words = t("Run From Failed Step");
  const line = ownLine(words, { text: ` · ${t("a new run, one of today's")}`, style: textStyles.quiet });
  return indented({ ...line, links: [{ kind: "failed-step", start: 0, end: words.length }] }, margin);
}

/** The line before a step's output. The step may not be known yet. */
export function stepHeading(step: RunStep | undefined, index: number): TextLine {
  const { mark, look } = statusStyle(step?.status);
  const detail = step === undefined ? "" : stepDetail(step);
  return ownLine(
    { text: `${mark} `, style: look },
    { text: stepName(step, index), style: textStyles.strong },
    ...(detail === "" ? [] : [{ text: ` · ${detail}`, style: textStyles.quiet }]),
  );
}

export function stepName(step: RunStep | undefined, index: number): string {
  const name = toOneLine(step?.name ?? "");
  return name === "" ? t("step {0}", index + 1) : name;
}

/** A step's type, status, notes and duration, if known. */
export function stepDetail(step: RunStep): string {
  const took = tookText(step.startedAt, step.stoppedAt);
  return [step.type, statusText(step.status), ...stepNotes(step, t), ...(took === undefined ? [] : [took])]
    .map(toOneLine)
    .filter((text) => text !== "")
    .join(" · ");
}

/** A mark and a colour, so that colour alone never tells a status; plain for an unknown status. */
function statusStyle(status = ""): { readonly mark: string; readonly look: SgrStyle } {
  return statusStyles.get(status) ?? { mark: "·", look: textStyles.quiet };
}

const bad = { mark: "✗", look: textStyles.bad };
const statusStyles = new Map([
  ["running", { mark: "●", look: textStyles.busy }],
  ["cancelling", { mark: "●", look: textStyles.busy }],
  ["succeeded", { mark: "✓", look: textStyles.good }],
  ["failed", bad],
  ["timed-out", bad],
  ["lost", bad],
  ["cancelled", { mark: "−", look: textStyles.ended }],
]);
