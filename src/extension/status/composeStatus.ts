import * as vscode from "vscode";
import { systemClock } from "../../machine/clock.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import type { Session } from "../session/session.ts";
import type { ResetRetries } from "../start/resetRetries.ts";
import type { Waits } from "../start/waits.ts";
import type { TreeViews } from "../views/treeViews.ts";
import type { Own } from "../window/own.ts";
import { watchDayUse } from "./dayUse.ts";
import { showBadge, showQuota } from "./quotaStatus.ts";
import { usedService } from "./statusFacts.ts";

interface StatusParts {
  readonly session: Session;
  readonly waits: Waits;
  readonly retries: ResetRetries;
  readonly choice: ServiceChoice;
  readonly views: TreeViews;
  readonly own: Own;
}

/** The day's number in the status bar, and the badge of the active runs. */
export function composeStatus({ session, waits, retries, choice, views, own }: StatusParts) {
  // Behind what others show, so that its growing text moves none of it, and before messages that come and go.
  const item = own(vscode.window.createStatusBarItem("quota", vscode.StatusBarAlignment.Left, 1));
  item.name = "Pipeline Runs: today's runs";
  own(showBadge(views.runs, session.state));
  return own(
    showQuota({
      item,
      session,
      waits,
      retries,
      used: () => usedService(session, choice),
      dayUse: own(watchDayUse(session)).use,
      clock: systemClock,
      color: (name) => new vscode.ThemeColor(name),
      markdown: () => new vscode.MarkdownString("", true),
    }),
  );
}
