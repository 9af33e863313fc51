import { t } from "@vscode/l10n";
import type { Disposable, StatusBarItem } from "vscode";
import { nextReset } from "../contract/day.ts";
import { quotaLevel, quotaText } from "../contract/limits.ts";
import type { Org } from "../contract/org.ts";
import type { Run } from "../contract/run.ts";
import { Observed } from "./observed.ts";
import type { SessionState } from "./session.ts";
import type { PendingRetry } from "./start/pendingRetry.ts";
import { retriesText } from "./start/retriesText.ts";
import type { Wait } from "./waits.ts";

/** What the status bar shows. `icon` is a codicon's id; the text beside it is what a screen reader says. */
export interface Presentation {
  readonly icon: string | undefined;
  readonly text: string;
  readonly tooltip: string;
  readonly background: "warning" | "error" | undefined;
  /** What a click does. */
  readonly command: "pipelineRuns.run" | "pipelineRuns.setApiKey" | "pipelineRuns.showLog" | "settings";
}

/** The one status-bar item, which says how many of the day's runs are used, or why that isn't known. */
export class QuotaStatus implements Disposable {
  readonly #following: readonly Disposable[];

  /** @param color makes the editor's colour of a name. */
  constructor(
    item: Pick<
      StatusBarItem,
      "text" | "tooltip" | "backgroundColor" | "command" | "accessibilityInformation" | "show" | "hide"
    >,
    state: Observed<SessionState>,
    waits: Observed<readonly Wait[]>,
    color: (name: string) => NonNullable<StatusBarItem["backgroundColor"]>,
    retries: Observed<readonly PendingRetry[]> = new Observed<readonly PendingRetry[]>([]),
  ) {
    const show = () => {
      const shown = present(state.value, waits.value, Date.now(), retries.value);
      if (shown === undefined) {
        item.hide();
        return;
      }
      item.text = shown.icon === undefined ? shown.text : `$(${shown.icon}) ${shown.text}`;
      item.tooltip = shown.tooltip;
      // Some texts name the product themselves.
      const label = shown.text.startsWith("Pipeline Runs") ? shown.text : `Pipeline Runs: ${shown.text}`;
      item.accessibilityInformation = { label };
      item.backgroundColor =
        shown.background === undefined ? undefined : color(`statusBarItem.${shown.background}Background`);
      item.command =
        shown.command === "settings"
          ? {
              command: "workbench.action.openSettings",
              title: "Open Settings",
              arguments: ["pipelineRuns.baseUrl"],
            }
          : shown.command;
      item.show();
    };
    this.#following = [state.follow(show), waits.follow(show), retries.follow(show)];
  }

  dispose(): void {
    for (const following of this.#following) following.dispose();
  }
}

/**
 * What to show for a state; undefined for nothing.
 * @param now the caller's clock, for the reset in the person's own time.
 */
export function present(
  state: SessionState,
  waits: readonly Wait[],
  now: number,
  retries: readonly PendingRetry[] = [],
): Presentation | undefined {
  switch (state.kind) {
    case "idle":
      return undefined;
    case "connecting":
      return {
        icon: "sync~spin",
        text: "Pipeline Runs: connecting",
        tooltip: "Looking for the service that runs the pipelines.",
        background: undefined,
        command: "pipelineRuns.showLog",
      };
    case "no-key":
      return {
        icon: "key",
        text: state.refused ? "Pipeline Runs: API key not accepted" : "Pipeline Runs: no API key",
        tooltip: state.refused
          ? `${state.origin} does not accept the API key. Click to set another.`
          : `There is no API key for ${state.origin}. Click to set one.`,
        background: "warning",
        command: "pipelineRuns.setApiKey",
      };
    case "out-of-reach":
      return state.retried
        ? {
            icon: "debug-disconnect",
            text: "Pipeline Runs: out of reach",
            tooltip: `${state.problem}\nIt is tried again by itself. Click to see the log.`,
            background: "warning",
            command: "pipelineRuns.showLog",
          }
        : {
            icon: "warning",
            text: "Pipeline Runs: base URL can't be used",
            tooltip: `${state.problem}\nClick to open the settings.`,
            background: "warning",
            command: "settings",
          };
    case "live":
      return presentLive(state, waits, now, retries);
    default:
      return state satisfies never;
  }
}

function presentLive(
  { org, inWork }: Extract<SessionState, { kind: "live" }>,
  waits: readonly Wait[],
  now: number,
  retries: readonly PendingRetry[],
): Presentation {
  const quota = quotaText(org);
  const [wait] = waits;
  const level = quotaLevel(org);
  const reset = new Date(nextReset(now)).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const lines = [
    `${org.orgName}, tier ${org.tier}`,
    `${quota}; the count starts again at 00:00 UTC (${reset} your time)`,
    ...(inWork === undefined ? [] : [placesText(org, inWork)]),
    "Click to run a pipeline.",
  ];
  return {
    icon: wait !== undefined ? "watch" : inWork !== undefined && inWork.length > 0 ? "sync~spin" : undefined,
    text: [
      quota,
      ...(wait === undefined ? [] : [t("waiting, {0} s left", wait.secondsLeft)]),
      ...(retries.length === 0 ? [] : [retriesText(retries)]),
    ].join(" · "),
    tooltip: lines.join("\n"),
    background: level === "used-up" ? "error" : level === "low" ? "warning" : undefined,
    command: "pipelineRuns.run",
  };
}

function placesText(org: Org, inWork: readonly Run[]): string {
  const names = inWork.length === 0 ? "" : `: ${inWork.map(({ pipeline }) => pipeline).join(", ")}`;
  return `${inWork.length} of ${org.limits.parallelRuns} places in use${names}`;
}
