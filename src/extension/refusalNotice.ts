import type { window as vscodeWindow } from "vscode";
import { nextReset } from "../contract/day.ts";
import { type Hint, type RefusedStart, refusalReport } from "../contract/refusal.ts";

export type RefusalAnswer = "retry" | "cancel-mine" | "dismissed";

const retry = "Retry";
const cancelMine = "Cancel My Runs";

/**
 * The one notification of a refused start: why, the hints, and what can be done about it (contract: "The extension").
 * @param told hints of a service's own tool, when it was the one that was refused.
 */
export async function showRefusal(
  refused: RefusedStart,
  window: Pick<typeof vscodeWindow, "showWarningMessage">,
  now: number,
  told?: readonly Hint[],
): Promise<RefusalAnswer> {
  const actions = refused.refusal.scope === "org" ? [retry, cancelMine] : [retry];
  const chosen = await window.showWarningMessage(refusalText(refused, now, told), ...actions);
  if (chosen === retry) return "retry";
  return chosen === cancelMine ? "cancel-mine" : "dismissed";
}

/** The notification's words; the time of the reset is in the person's own zone. */
export function refusalText(refused: RefusedStart, now: number, told?: readonly Hint[]): string {
  const report = refusalReport(refused);
  const hints = (told ?? report.hints).map(({ command, doc }) => `${command} (${doc})`).join("; ");
  return `${refused.pipeline} was not started: ${report.error.type}. ${report.error.message}${localReset(refused, now)} Hint: ${hints}.`;
}

function localReset({ refusal }: RefusedStart, now: number): string {
  if (refusal.scope !== "free-day") return "";
  const time = new Date(nextReset(now)).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return ` That is ${time} your time.`;
}
