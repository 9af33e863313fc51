import { t } from "@vscode/l10n";
import { quotaLevel, quotaText } from "../../contract/limits.ts";
import type { DayUse } from "../../text/dayUse.ts";
import { placeText } from "../../text/queueText.ts";
import { timeOfDay } from "../../text/time.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import type { Session } from "../session/session.ts";
import { isOld, type OrgReading, type SessionState } from "../session/sessionState.ts";
import type { Wait } from "../start/waits.ts";

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
