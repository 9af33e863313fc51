import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import type { RefusedStart } from "../../contract/refusal.ts";
import { type RefusalFacts, refusalLines } from "../../text/refusalText.ts";
import type { ChosenStart } from "./chooseStart.ts";
import type { SlotHolders } from "./waitNotice.ts";

export type RefusalAnswer =
  | "retry"
  | "retry-at-reset"
  | "cancel-mine"
  | "who-holds"
  | "what-counts"
  | "dismissed";

/** The actions of a refusal's buttons on the refused start, except Retry. */
export type RefusalActions = Readonly<
  Record<Exclude<RefusalAnswer, "retry" | "dismissed">, (start: ChosenStart) => Promise<void>>
>;

/** A tool may give any number of hints. */
const mostHints = 4;

/**
 * Shows the notification of a refused start: the reason, the hints and the buttons (contract: "The extension").
 *
 * @param facts includes the slot holders; undefined if the service doesn't report them.
 */
export async function showRefusal(
  refused: RefusedStart,
  facts: RefusalFacts & { readonly holders?: SlotHolders | undefined },
  window: Pick<typeof vscodeWindow, "showWarningMessage">,
): Promise<RefusalAnswer> {
  const answers = answersTo(refused, facts.holders);
  const chosen = await window.showWarningMessage(refusalText(refused, facts), ...answers.keys());
  return (chosen !== undefined && answers.get(chosen)) || "dismissed";
}

/** The buttons by the refusal's scope. Once the day's runs are used up, only the next day helps. */
function answersTo({ refusal }: RefusedStart, holders: SlotHolders | undefined): Map<string, RefusalAnswer> {
  const answers = new Map<string, RefusalAnswer>([[t("Retry"), "retry"]]);
  switch (refusal.scope) {
    case "free-day":
      answers.set(t("Retry at 00:00 UTC"), "retry-at-reset");
      answers.set(t("What Counts as a Run?"), "what-counts");
      return answers;
    case "org":
      if (holders === undefined || holders.runs.some(({ actor }) => actor === holders.me)) {
        answers.set(t("Cancel My Runs"), "cancel-mine");
      }
      if (holders !== undefined) answers.set(t("Who Holds the Slot"), "who-holds");
      return answers;
  }
}

export function refusalText(refused: RefusedStart, facts: RefusalFacts): string {
  const { reason, hints } = refusalLines([refused], facts, t);
  return `${reason} ${t("Hint: {0}.", hints.slice(0, mostHints).join("; "))}`;
}
