import { t } from "@vscode/l10n";
import type { Step } from "../../contract/run.ts";
import { inALine } from "./inALine.ts";
import { placeLinks } from "./placeLinks.ts";
import { statusLook, stepDetail, stepName } from "./stepHeading.ts";
import { indented, looks, ownLine, type TextLine } from "./textLine.ts";

const margin = "  ";
const mostOfMessage = 20;

/** Why a run failed, before all else: the step, what it says of itself, and the last that it wrote. */
export function failedStepLines(step: Step, last: readonly TextLine[]): TextLine[] {
  const { mark, look } = statusLook(step.status);
  const said = (step.message ?? "")
    .split(/\r?\n/)
    .map(inALine)
    .filter((line) => line !== "");
  // The service tells the last that was written as part of its message; the log itself has it with its colours.
  const repeated = new Set(last.map(({ text }) => inALine(text)));
  const own = said.filter((line, at) => at === 0 || !repeated.has(line));
  // Where all that a colon leads to is told below, it would lead nowhere.
  if (own.length === 1 && said.length > 1) own[0] = own[0]?.replace(/:$/, "") ?? "";
  const shown = own.length > mostOfMessage ? [...own.slice(0, mostOfMessage), "…"] : own;
  const lines = [
    ownLine(
      { text: `${mark} ${t("Failed step: {0}", stepName(step, 0))}`, style: look },
      { text: ` · ${stepDetail(step)}`, style: looks.quiet },
    ),
    ...shown.map((text) => indented({ ...ownLine(text), links: placeLinks(text) }, margin)),
  ];
  if (last.length === 0) return lines;
  const heading = last.length === 1 ? t("Its last line:") : t("Its last {0} lines:", last.length);
  return [
    ...lines,
    ownLine({ text: margin + heading, style: looks.quiet }),
    ...last.map((line) => indented(line, margin + margin)),
  ];
}
