import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { type Hint, type RefusedStart, refusalReport } from "../../contract/refusal.ts";
import type { SlotHolders } from "./waitNotice.ts";

export type RefusalAnswer = "retry" | "retry-at-reset" | "cancel-mine" | "who-holds" | "dismissed";

/** What else is known of a refused start. */
export interface RefusalFacts {
  /** This machine's clock at the refusal, in milliseconds since 1970. */
  readonly now: number;
  /** Hints of a service's own tool, when it was the one that was refused. */
  readonly hints?: readonly Hint[] | undefined;
  /** Who holds the places; undefined where the service doesn't tell. */
  readonly holders?: SlotHolders | undefined;
}

/** A tool may give as many hints as it likes. */
const mostHints = 4;

/** The one notification of a refused start: why, the hints, and what can be done about it (contract: "The extension"). */
export async function showRefusal(
  refused: RefusedStart,
  facts: RefusalFacts,
  window: Pick<typeof vscodeWindow, "showWarningMessage">,
): Promise<RefusalAnswer> {
  const answers = answersTo(refused, facts);
  const chosen = await window.showWarningMessage(refusalText(refused, facts), ...answers.keys());
  return (chosen !== undefined && answers.get(chosen)) || "dismissed";
}

/** What helps: a wait helps against a taken place, and only the next day against a used-up one. */
function answersTo({ refusal }: RefusedStart, { holders }: RefusalFacts): Map<string, RefusalAnswer> {
  const answers = new Map<string, RefusalAnswer>([[t("Retry"), "retry"]]);
  switch (refusal.scope) {
    case "free-day":
      answers.set(t("Retry at 00:00 UTC"), "retry-at-reset");
      return answers;
    case "org":
      if (holders === undefined || holders.runs.some(({ actor }) => actor === holders.me)) {
        answers.set(t("Cancel My Runs"), "cancel-mine");
      }
      if (holders !== undefined) answers.set(t("Who Holds the Place"), "who-holds");
      return answers;
    default:
      return refusal satisfies never;
  }
}

/** The notification's words; the time of the reset is in the person's own zone. */
export function refusalText(refused: RefusedStart, { now, hints }: RefusalFacts): string {
  const report = refusalReport(refused);
  const told = (hints ?? report.hints)
    .slice(0, mostHints)
    .map(({ command, doc }) => `${command} (${doc})`)
    .join("; ");
  return `${refused.pipeline} was not started: ${report.error.type}. ${report.error.message}${localReset(refused, now)} Hint: ${told}.`;
}

/** What this machine's clock will show at the reset, also where it is off. */
function localReset({ refusal }: RefusedStart, now: number): string {
  if (refusal.scope !== "free-day") return "";
  const reset = new Date(Math.round((now + refusal.secondsToReset * 1000) / 60_000) * 60_000);
  const time = reset.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return ` That is ${time} your time.`;
}
