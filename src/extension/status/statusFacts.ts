import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { quotaLevel, quotaText } from "../../contract/limits.ts";
import type { DayUse } from "../../text/dayUse.ts";
import { placeText } from "../../text/refusalText.ts";
import { timeOfDay } from "../../text/time.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import { isOld, type OrgReading, type SessionState } from "../session/serviceConnection.ts";
import type { Session } from "../session/session.ts";
import type { Wait } from "../start/waitNotice.ts";

/** What the status-bar item, its tooltip and its menu show. */
export interface StatusFacts {
  readonly state: SessionState;
  /** Undefined while the numbers of `live` are another day's. */
  readonly reading: OrgReading | undefined;
  readonly waits: readonly Wait[];
  /** Who used the day's runs, if known. */
  readonly use: DayUse | undefined;
  /** The deferred starts as a text; empty if there are none. */
  readonly deferred: string;
  /** The service and the key in use, and why. */
  readonly used: UsedService | undefined;
  /** This machine's clock, in milliseconds since 1970. */
  readonly now: number;
}

export interface UsedService {
  /** The service's host, or the name of this machine's own service. */
  readonly name: string;
  /** Whether it is this machine's own service with its own token. */
  readonly isOwn: boolean;
  readonly source: "chosen" | "settings" | "default";
}

/** The service and key that a window uses, and why; undefined while it follows no service. */
export function usedService(
  session: Pick<Session, "currentClient" | "hasEnteredKey">,
  choice: Pick<ServiceChoice, "target" | "source">,
): UsedService | undefined {
  const target = choice.target();
  if (session.currentClient === undefined || target.kind === "invalid") return undefined;
  return {
    name: target.kind === "embedded" ? t("This machine's own service") : target.baseUrl.host,
    isOwn: target.kind === "embedded" && !session.hasEnteredKey,
    source: choice.source(),
  };
}

/** The status bar's content. `icon` is a codicon's id; a screen reader reads the text. */
export interface Presentation {
  readonly icon: string | undefined;
  readonly text: string;
  readonly background: "warning" | "error" | undefined;
}

type PresentedFacts = Pick<StatusFacts, "state" | "reading" | "waits" | "deferred" | "now">;

/** The status bar's content; undefined for none. Deferred starts are shown in any state. */
export function present(facts: PresentedFacts): Presentation | undefined {
  const { deferred } = facts;
  const shown = presentNow(facts);
  if (deferred === "") return shown;
  if (shown === undefined) return { icon: "watch", text: deferred, background: undefined };
  return { ...shown, text: `${shown.text} · ${deferred}` };
}

function presentNow({ state, reading, waits, now }: PresentedFacts): Presentation | undefined {
  switch (state.kind) {
    case "idle":
      return undefined;
    case "connecting":
      return { icon: "sync~spin", text: t("Pipeline Runs: connecting"), background: undefined };
    case "no-key":
      return {
        icon: "key",
        text: state.refused ? t("Pipeline Runs: API key not accepted") : t("Pipeline Runs: no API key"),
        background: "warning",
      };
    case "out-of-reach":
      return state.retried
        ? {
            icon: "debug-disconnect",
            text: t("Pipeline Runs: service can't be reached"),
            background: "warning",
          }
        : { icon: "warning", text: t("Pipeline Runs: base URL can't be used"), background: "warning" };
    case "stopped":
      return { icon: "debug-pause", text: t("Pipeline Runs: service stopped"), background: undefined };
    case "not-supported":
      return { icon: "warning", text: t("Pipeline Runs: not for this workspace"), background: "warning" };
    case "live": {
      // The numbers are yesterday's.
      if (reading === undefined) {
        return { icon: "sync~spin", text: t("Pipeline Runs: loading the new day"), background: undefined };
      }
      const [wait] = waits;
      const isBusy = state.activeRuns !== undefined && state.activeRuns.length > 0;
      const level = quotaLevel(state.org);
      return {
        // The icon shows the level too, since some themes have no colour for it.
        icon: wait !== undefined ? "watch" : isBusy ? "sync~spin" : levelIcons[level],
        text: [
          quotaText(state.org),
          ...(isOld(reading, now) ? [t("as of {0}", timeOfDay(reading.at))] : []),
          ...(wait === undefined ? [] : [waitText(wait)]),
        ].join(" · "),
        background: level === "used-up" ? "error" : level === "low" ? "warning" : undefined,
      };
    }
    default:
      return state satisfies never;
  }
}

const levelIcons = { plenty: undefined, low: "warning", "used-up": "error" } as const;

export function waitText({ place, secondsLeft }: Pick<Wait, "place" | "secondsLeft">): string {
  return place === undefined
    ? t("waiting; gives up in {0} s", secondsLeft)
    : t("waiting, {0}; gives up in {1} s", placeText(place, t), secondsLeft);
}

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
