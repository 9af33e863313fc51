import { t } from "@vscode/l10n";
import { failedStep } from "../../contract/failedStep.ts";
import { runCommand } from "../../contract/refusal.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { tookText } from "../tookText.ts";
import { statusText } from "../views/inWords.ts";
import { inALine } from "./inALine.ts";
import { statusLook } from "./stepHeading.ts";
import { looks, ownLine, type TextLine } from "./textLine.ts";

export interface HeadFacts {
  /** The id of this window's key, where it is known. */
  readonly me: string | undefined;
  /** How many lines of the log are no longer in the document. */
  readonly leftOut: number;
  readonly timeText: (instant: string) => string;
}

/** What stands first: which run it is, what became of it, when and by whom it was started. */
export function headLines(run: Run, { me, leftOut, timeText }: HeadFacts): TextLine[] {
  const { mark, look } = statusLook(run.status);
  const took = tookText(run.createdAt, run.stoppedAt);
  const status = statusText(inALine(run.status));
  const started = startedText(run, me, timeText);
  const lines = [
    ownLine(
      { text: `${mark} `, style: look },
      { text: inALine(nameOf(run)), style: looks.strong },
      " ",
      { text: status, style: look },
      ...(took === undefined ? [] : [` · ${took}`]),
    ),
    ...(started === undefined ? [] : [ownLine({ text: started, style: looks.quiet })]),
    ownLine({
      text:
        run.project === undefined
          ? t("Run id {0}", inALine(run.runId))
          : t("Run {0}, project {1}", inALine(run.runId), inALine(run.project)),
      style: looks.quiet,
    }),
  ];
  // A failed step says the same, and more.
  if (run.reason !== undefined && failedStep(run)?.step.status !== "failed") {
    lines.push(...run.reason.split("\n").map((line) => ownLine(inALine(line))));
  }
  if (leftOut > 0) lines.push(leftOutLine(leftOut, run.runId));
  return lines;
}

/** When and by whom a run was started, as far as it is told. */
function startedText(
  { createdAt, actor }: Run,
  me: string | undefined,
  timeText: HeadFacts["timeText"],
): string | undefined {
  if (createdAt === undefined) return actor === undefined ? undefined : t("Started by {0}", inALine(actor));
  if (actor === undefined) return t("Started {0}", timeText(createdAt));
  return actor === me
    ? t("Started {0} by your key ({1})", timeText(createdAt), inALine(actor))
    : t("Started {0} by {1}", timeText(createdAt), inALine(actor));
}

/** Says plainly that something is missing, and how to get it. */
export function leftOutLine(count: number, runId: string): TextLine {
  const command = runCommand("log", inALine(runId));
  const text =
    count === 1
      ? t("1 older line is left out here. All of the log: {0}", command)
      : t("{0} older lines are left out here. All of the log: {1}", count.toLocaleString(), command);
  return ownLine({ text, style: looks.ended });
}
