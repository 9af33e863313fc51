import * as vscode from "vscode";
import { describeError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import type { Session } from "../session/session.ts";
import type { Claims } from "../window/claims.ts";
import type { Own, Scope } from "../window/own.ts";
import {
  executeCommand,
  localFolders,
  localWorkspaceFile,
  openPosition,
  settings,
} from "../window/workspace.ts";
import { warnOfIgnoredSettings } from "./ignoredSettings.ts";
import { type NoticeDeps, showProblem } from "./problemNotice.ts";
import { watchQuota } from "./quotaNotice.ts";
import { RunAnnouncer, readAnnounceLevel } from "./runAnnouncer.ts";

interface AnnouncedParts {
  readonly session: Session;
  readonly claims: Claims;
  readonly onKeyRefused: NoticeDeps["onKeyRefused"];
  readonly own: Own;
}

/** The notifications of this window: of problems, ends of runs, a day that runs low, and settings that are ignored. */
export function composeAnnouncements(
  { context, window, log, signal }: Scope,
  { session, claims, onKeyRefused, own }: AnnouncedParts,
): { readonly notice: NoticeDeps; readonly announcer: RunAnnouncer } {
  const notice = { window, executeCommand, openPosition, onKeyRefused };
  const everywhere = vscode.ConfigurationTarget.Global;
  const announcer = own(
    new RunAnnouncer({
      window,
      session,
      claims,
      clock: systemClock,
      log,
      signal,
      level: () => readAnnounceLevel(settings().get("announce")),
      setLevel: (level) => settings().update("announce", level, everywhere),
      executeCommand,
      showProblem: (error) => showProblem(error, notice),
    }),
  );
  own(
    watchQuota({
      session,
      claims,
      window,
      executeCommand,
      now: systemClock.now,
      isOn: () => settings().get("quotaNotice") !== false,
      switchOff: () => settings().update("quotaNotice", false, everywhere),
    }),
  );
  watchIgnoredSettings({ context, window, log }, own);
  return { notice, announcer };
}

/** Warns of settings of the workspace's files that the editor leaves out, once they may be read. */
function watchIgnoredSettings({ context, window, log }: Omit<Scope, "signal">, own: Own): void {
  const { workspace } = vscode;
  const warn = () => {
    if (!workspace.isTrusted) return;
    warnOfIgnoredSettings({
      folders: localFolders,
      workspaceFile: localWorkspaceFile,
      memento: context.workspaceState,
      window,
      executeCommand,
    }).catch((error: unknown) => log.warn(describeError(error)));
  };
  warn();
  own(workspace.onDidGrantWorkspaceTrust(warn));
  own(workspace.onDidChangeWorkspaceFolders(warn));
}
