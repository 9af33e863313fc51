import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { quotaLevel } from "../../contract/limits.ts";
import { present, type StatusFacts } from "./statusFacts.ts";

/** An action of the status bar's menu and tooltip. */
export interface StatusAction {
  /** A codicon's id. */
  readonly icon: string;
  readonly label: string;
  readonly command: string;
  readonly args: readonly unknown[];
  /** Whether the tooltip, which has less room than the menu, links to the action. */
  readonly inTooltip: boolean;
}

/** The actions that make sense now, most likely first. */
export function statusActionsFor(facts: StatusFacts): StatusAction[] {
  // A deferred start can be cancelled in any state.
  const cancelDeferred =
    facts.deferred === "" || facts.state.kind === "live" ? [] : [allActions().cancelRetry];
  return [...actionsFor(facts), ...cancelDeferred];
}

function actionsFor(facts: StatusFacts): StatusAction[] {
  const all = allActions();
  const { state } = facts;
  switch (state.kind) {
    case "idle":
      return [all.run, all.showRuns, all.chooseKey, all.setKey, all.settings, all.showLog];
    case "connecting":
      return [all.tryAgain, all.chooseKey, all.showLog];
    case "no-key":
      return [all.setKey, all.chooseKey, all.settings, all.showLog];
    case "out-of-reach":
      return state.retried
        ? [all.tryAgain, all.showLog, all.chooseKey, all.settings]
        : [all.settings, all.chooseKey, all.showLog];
    case "stopped":
      return [all.startService, all.run, all.chooseKey, all.showLog];
    case "not-supported":
      return [all.settings, all.chooseKey, all.showLog];
    case "live":
      return actionsWhileLive(state, facts, all);
  }
}

function actionsWhileLive(
  { org, activeRuns }: Extract<StatusFacts["state"], { kind: "live" }>,
  { waits, deferred, reading }: StatusFacts,
  all: ReturnType<typeof allActions>,
): StatusAction[] {
  const mine = (activeRuns ?? []).filter(({ actor }) => actor === org.actor).length;
  // A service that doesn't report runs may still have some.
  const mayCancelMine = activeRuns === undefined || mine > 0;
  const isTaken = activeRuns === undefined || activeRuns.length > 0;
  const isUsedUp = reading !== undefined && quotaLevel(org) === "used-up";
  return [
    ...(waits.length > 0 ? [all.stopWaiting] : []),
    ...(deferred === "" ? [] : [all.cancelRetry]),
    ...(isUsedUp || waits.length > 0 ? [] : [all.run]),
    ...(isTaken ? [all.whoHolds] : []),
    ...(mayCancelMine ? [all.cancelMine] : []),
    ...(isTaken ? [all.cancel] : []),
    all.showRuns,
    ...(isUsedUp || waits.length > 0 ? [all.run] : []),
    all.openInBrowser,
    all.whatCounts,
    ...(reading?.how === "asked" ? [all.tryAgain] : []),
    all.chooseKey,
    all.setKey,
    all.showLog,
  ];
}

function allActions() {
  const entry = (icon: string, label: string, command: string, inTooltip = true): StatusAction => ({
    icon,
    label,
    command,
    inTooltip,
    args: [],
  });
  return {
    run: entry("play", t("Run Pipeline…"), "pipelineRuns.run"),
    cancelMine: entry("stop-circle", t("Cancel My Runs"), "pipelineRuns.cancelMine"),
    cancel: entry("debug-stop", t("Cancel Run…"), "pipelineRuns.cancel", false),
    whoHolds: entry("person", t("Who Holds the Slot"), "pipelineRuns.whoHolds"),
    stopWaiting: entry("circle-slash", t("Stop Waiting"), "pipelineRuns.stopWaiting"),
    cancelRetry: entry("clock", t("Cancel Retry…"), "pipelineRuns.cancelRetry"),
    showRuns: entry("list-unordered", t("Show Runs"), "pipelineRuns.runs.focus"),
    openInBrowser: entry("link-external", t("Open in Browser"), "pipelineRuns.openInBrowser"),
    startService: entry("debug-start", t("Start This Machine's Service"), "pipelineRuns.startService"),
    tryAgain: entry("refresh", t("Refresh"), "pipelineRuns.refresh"),
    chooseKey: entry("organization", t("Choose API Key…"), "pipelineRuns.chooseKey", false),
    setKey: entry("key", t("Set API Key…"), "pipelineRuns.setApiKey"),
    whatCounts: entry("question", t("What Counts as a Run?"), "pipelineRuns.whatCounts"),
    showLog: entry("output", t("Show Log"), "pipelineRuns.showLog", false),
    settings: {
      ...entry("gear", t("Open Settings"), "workbench.action.openSettings"),
      args: ["pipelineRuns.baseUrl"],
    },
  };
}

interface ShowMenuDeps {
  readonly status: { readonly facts: () => StatusFacts };
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

/** “Show Menu…”, also a click on the status-bar item: the actions that make sense now. */
export async function showMenu({ status, window, executeCommand }: ShowMenuDeps): Promise<void> {
  const facts = status.facts();
  const items = statusActionsFor(facts).map((entry) => ({ label: `$(${entry.icon}) ${entry.label}`, entry }));
  const picked = await window.showQuickPick(items, {
    title: t("Pipeline Runs"),
    placeHolder: present(facts)?.text ?? t("What do you want to do?"),
  });
  if (picked !== undefined) await executeCommand(picked.entry.command, ...picked.entry.args);
}
