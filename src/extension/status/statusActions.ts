import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import * as z from "zod/mini";
import { quotaLevel } from "../../contract/limits.ts";
import type { QuotaStatus } from "./quotaStatus.ts";
import { present, type StatusFacts } from "./statusFacts.ts";

/** Something that can be done from the status bar. */
export interface Entry {
  /** A codicon's id. */
  readonly icon: string;
  readonly label: string;
  readonly command: string;
  readonly args: readonly unknown[];
  /** Whether it is a link of the tooltip, too, which has less room than the menu. */
  readonly inTooltip: boolean;
}

/**
 * What is sensible to do now, the most likely first.
 * @param isThere whether a command is contributed.
 */
export function entriesOf(facts: StatusFacts, isThere: (command: string) => boolean): Entry[] {
  // What is put off can be taken back whatever is known of the service.
  const putOff = facts.later === "" || facts.state.kind === "live" ? [] : [every().cancelRetry];
  const all = [...wanted(facts), ...putOff];
  return all.filter(({ command }) => !command.startsWith("pipelineRuns.") || isThere(command));
}

function wanted(facts: StatusFacts): Entry[] {
  const all = every();
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
    case "not-supported":
      return [all.settings, all.chooseKey, all.showLog];
    case "live":
      return whileLive(state, facts, all);
    default:
      return state satisfies never;
  }
}

function whileLive(
  { org, inWork }: Extract<StatusFacts["state"], { kind: "live" }>,
  { waits, later, reading }: StatusFacts,
  all: ReturnType<typeof every>,
): Entry[] {
  const mine = (inWork ?? []).filter(({ actor }) => actor === org.actor).length;
  // Where the service doesn't tell of runs, there may be some.
  const mayCancelMine = inWork === undefined || mine > 0;
  const isTaken = inWork === undefined || inWork.length > 0;
  const isUsedUp = reading !== undefined && quotaLevel(org) === "used-up";
  const entries = [
    ...(waits.length > 0 ? [all.stopWaiting] : []),
    ...(later === "" ? [] : [all.cancelRetry]),
    ...(isUsedUp || waits.length > 0 ? [] : [all.run]),
    ...(isTaken ? [all.whoHolds] : []),
    ...(mayCancelMine ? [all.cancelMine] : []),
    ...(isTaken ? [all.cancel] : []),
    all.showRuns,
    ...(isUsedUp || waits.length > 0 ? [all.run] : []),
    all.openInBrowser,
    ...(reading?.how === "asked" ? [all.tryAgain] : []),
    all.chooseKey,
    all.setKey,
    all.showLog,
  ];
  return entries;
}

function every() {
  const entry = (icon: string, label: string, command: string, inTooltip = true): Entry => ({
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
    whoHolds: entry("person", t("Who Holds the Place"), "pipelineRuns.whoHolds"),
    stopWaiting: entry("circle-slash", t("Stop Waiting"), "pipelineRuns.stopWaiting"),
    cancelRetry: entry("clock", t("Cancel Retry…"), "pipelineRuns.cancelRetry"),
    showRuns: entry("list-unordered", t("Show Runs"), "pipelineRuns.runs.focus"),
    openInBrowser: entry("link-external", t("Open in Browser"), "pipelineRuns.openInBrowser"),
    tryAgain: entry("refresh", t("Ask the Service Again"), "pipelineRuns.refresh"),
    chooseKey: entry("organization", t("Choose API Key…"), "pipelineRuns.chooseKey", false),
    setKey: entry("key", t("Set API Key…"), "pipelineRuns.setApiKey"),
    showLog: entry("output", t("Show Log"), "pipelineRuns.showLog", false),
    settings: {
      ...entry("gear", t("Open Settings"), "workbench.action.openSettings"),
      args: ["pipelineRuns.baseUrl"],
    },
  };
}

const manifestSchema = z.object({
  contributes: z.object({
    commands: z.array(z.object({ command: z.string() })),
    views: z.optional(z.record(z.string(), z.array(z.object({ id: z.string() })))),
  }),
});

/** Which commands the extension has, by its manifest: its own, and the editor's that show its views. */
export function contributed(manifest: unknown): (command: string) => boolean {
  const { contributes } = manifestSchema.parse(manifest, { jitless: true });
  const views = Object.values(contributes.views ?? {}).flat();
  const ids = new Set([
    ...contributes.commands.map(({ command }) => command),
    ...views.map(({ id }) => `${id}.focus`),
  ]);
  return (command) => ids.has(command);
}

export interface ShowMenuDeps {
  readonly status: Pick<QuotaStatus, "facts">;
  readonly window: Pick<typeof vscodeWindow, "showQuickPick">;
  readonly isThere: (command: string) => boolean;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

interface EntryItem extends QuickPickItem {
  readonly entry: Entry;
}

/** “Show Menu…”, also by a click on the status bar: what is sensible now, the most likely first. */
export async function showMenu({ status, window, isThere, executeCommand }: ShowMenuDeps): Promise<void> {
  const facts = status.facts();
  const items = entriesOf(facts, isThere).map(
    (entry): EntryItem => ({ label: `$(${entry.icon}) ${entry.label}`, entry }),
  );
  const picked = await window.showQuickPick(items, {
    title: t("Pipeline Runs"),
    placeHolder: present(facts)?.text ?? t("What is to be done?"),
  });
  if (picked !== undefined) await executeCommand(picked.entry.command, ...picked.entry.args);
}
