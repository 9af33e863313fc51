import { t } from "@vscode/l10n";
import { failedStep } from "../../contract/failedStep.ts";
import type { Run } from "../../contract/run.ts";
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
  const actor = inALine(run.actor);
  const status = statusText(inALine(run.status));
  const startedBy =
    run.actor === me
      ? t("Started {0} by your key ({1})", timeText(run.createdAt), actor)
      : t("Started {0} by {1}", timeText(run.createdAt), actor);
  const lines = [
    ownLine(
      { text: `${mark} `, style: look },
      { text: inALine(run.pipeline), style: looks.strong },
      " ",
      { text: status, style: look },
      ...(took === undefined ? [] : [` · ${took}`]),
    ),
    ownLine({ text: startedBy, style: looks.quiet }),
    ownLine({
      text: t("Run {0}, project {1}", inALine(run.runId), inALine(run.project)),
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

/** Says plainly that something is missing, and how to get it. */
export function leftOutLine(count: number, runId: string): TextLine {
  const command = `pipeline runs log ${inALine(runId)}`;
  const text =
    count === 1
      ? t("1 older line is left out here. All of the log: {0}", command)
      : t("{0} older lines are left out here. All of the log: {1}", count.toLocaleString(), command);
  return ownLine({ text, style: looks.ended });
}
