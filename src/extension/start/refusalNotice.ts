import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { type Hint, type RefusedStart, refusalReport } from "../../contract/refusal.ts";
import type { SlotHolders } from "./waitNotice.ts";

export type RefusalAnswer = "retry" | "retry-at-reset" | "cancel-mine" | "who-holds" | "dismissed";

/** What else the notification of a refused start shows. */
export interface RefusalFacts {
  /** This machine's clock at the refusal, in milliseconds since 1970. */
  readonly now: number;
  /** Hints of the service's own tool, if that was refused. */
  readonly hints?: readonly Hint[] | undefined;
  /** Who holds the slots; undefined if the service doesn't report it. */
  readonly holders?: SlotHolders | undefined;
}

/** A tool may give any number of hints. */
const mostHints = 4;

/** Shows the notification of a refused start: the reason, the hints and the buttons (contract: "The extension"). */
export async function showRefusal(
  refused: RefusedStart,
  facts: RefusalFacts,
  window: Pick<typeof vscodeWindow, "showWarningMessage">,
): Promise<RefusalAnswer> {
  const answers = answersTo(refused, facts);
  const chosen = await window.showWarningMessage(refusalText(refused, facts), ...answers.keys());
  return (chosen !== undefined && answers.get(chosen)) || "dismissed";
}

/** The buttons by the refusal's scope: only the next day helps once the day's runs are used. */
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
      if (holders !== undefined) answers.set(t("Who Holds the Slot"), "who-holds");
      return answers;
    default:
      return refusal satisfies never;
  }
}

/** The text of the notification: the error's type, the reason and the hints. */
export function refusalText(refused: RefusedStart, { now, hints }: RefusalFacts): string {
  const report = refusalReport(refused);
  const shownHints = (hints ?? report.hints).slice(0, mostHints);
  return t(
    "{0} was not started: {1}. {2} Hint: {3}.",
    refused.pipeline,
    report.error.type,
    reasonText(refused, now),
    shownHints.map(({ command, doc }) => `${command} (${doc})`).join("; "),
  );
}

/** The reason with its scope; the time of the reset as this machine's clock will show it, also where that is off. */
function reasonText({ refusal, waitedSeconds }: RefusedStart, now: number): string {
  switch (refusal.scope) {
    case "free-day": {
      const { secondsToReset } = refusal;
      const reset = new Date(Math.round((now + secondsToReset * 1000) / 60_000) * 60_000);
      return t(
        "Scope free-day: all of today's runs are used. The count starts again at 00:00 UTC, in {0} s. That is {1} your time.",
        secondsToReset,
        reset.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }),
      );
    }
    case "org":
      return waitedSeconds === 0
        ? t("Scope org: another run holds the org's slot.")
        : t("Scope org: another run holds the org's slot, and it did not come free in {0} s.", waitedSeconds);
    default:
      return refusal satisfies never;
  }
}
