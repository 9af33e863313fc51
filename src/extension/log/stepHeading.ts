import { t } from "@vscode/l10n";
import type { AnsiStyle } from "../../contract/ansi.ts";
import type { Step } from "../../contract/run.ts";
import { tookText } from "../tookText.ts";
import { statusText } from "../views/inWords.ts";
import { inALine } from "./inALine.ts";
import { looks, ownLine, type TextLine } from "./textLine.ts";

/** The line that stands before what a step wrote; the service may not have told of the step yet. */
export function stepHeading(step: Step | undefined, index: number): TextLine {
  const { mark, look } = statusLook(step?.status);
  const detail = step === undefined ? "" : stepDetail(step);
  return ownLine(
    { text: `${mark} `, style: look },
    { text: stepName(step, index), style: looks.strong },
    ...(detail === "" ? [] : [{ text: ` · ${detail}`, style: looks.quiet }]),
  );
}

export function stepName(step: Step | undefined, index: number): string {
  const name = inALine(step?.name ?? "");
  return name === "" ? t("step {0}", index + 1) : name;
}

/** Its type, its status and how long it took, as far as the service tells. */
export function stepDetail({ type, status, startedAt, stoppedAt }: Step): string {
  const took = tookText(startedAt, stoppedAt);
  return [type, statusText(status), ...(took === undefined ? [] : [took])]
    .map(inALine)
    .filter((text) => text !== "")
    .join(" · ");
}

/** A mark, so that no status is told by its colour alone, and a colour. A status that isn't known has the plainest. */
export function statusLook(status: string | undefined): { readonly mark: string; readonly look: AnsiStyle } {
  switch (status) {
    case "running":
    case "cancelling":
      return { mark: "●", look: looks.busy };
    case "succeeded":
      return { mark: "✓", look: looks.good };
    case "failed":
    case "timed-out":
    case "lost":
      return { mark: "✗", look: looks.bad };
    case "cancelled":
      return { mark: "−", look: looks.ended };
    default:
      return { mark: "·", look: looks.quiet };
  }
}
