import { t } from "@vscode/l10n";
import type { Disposable, window as vscodeWindow } from "vscode";
import { utcDay } from "../../contract/day.ts";
import { quotaLevel } from "../../contract/limits.ts";
import type { Session } from "../session/session.ts";
import { serviceNow } from "../session/sessionState.ts";
import type { Claims } from "../window/claims.ts";

export interface QuotaNoticeDeps {
  readonly session: Pick<Session, "state" | "reading" | "origin">;
  readonly claims: Pick<Claims, "claim">;
  readonly window: Pick<typeof vscodeWindow, "showInformationMessage">;
  readonly isOn: () => boolean;
  readonly switchOff: () => Thenable<void>;
  readonly executeCommand: (command: string) => Thenable<unknown>;
  /** This machine's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Says once a day, in one window, that few of the day's runs are left: from 80 % used, like the status bar's warning colour. Says
 * nothing once they are used up, since a refused start does.
 */
export function watchQuota(deps: QuotaNoticeDeps): Disposable {
  // If claims can't be stored, every claim would count as the first.
  const claimed = new Set<string>();
  return deps.session.state.observe(() => void noticeOnce(deps, claimed));
}

/** @param claimed the names that this window has claimed, one for each day. */
async function noticeOnce(deps: QuotaNoticeDeps, claimed: Set<string>): Promise<void> {
  const { session, claims, window, isOn, switchOff, executeCommand } = deps;
  const state = session.state.value;
  const reading = session.reading.value;
  if (state.kind !== "live" || reading === undefined || !isOn()) return;
  const { org } = state;
  if (quotaLevel(org) !== "low") return;
  const now = serviceNow(reading, deps.now());
  const name = `quota/${session.origin}/${org.orgId}/${utcDay(now)}`;
  if (claimed.has(name)) return;
  claimed.add(name);
  if (!(await claims.claim(name))) return;
  // Stays true after later runs, since an editor's notification can't be changed.
  const text = t(
    "At least {0} of today's {1} runs are used. The count starts again at 00:00 UTC.",
    org.usage.runsToday,
    org.limits.runsPerDay,
  );
  const showRuns = t("Show Runs");
  const never = t("Don't Show Again");
  const chosen = await window.showInformationMessage(text, showRuns, never);
  if (chosen === showRuns) await executeCommand("pipelineRuns.runs.focus");
  if (chosen === never) await switchOff();
}
