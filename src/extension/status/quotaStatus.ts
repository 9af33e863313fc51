import { t } from "@vscode/l10n";
import type { Disposable, MarkdownString, StatusBarItem } from "vscode";
import type { Clock } from "../../contract/clock.ts";
import { quotaLevel, quotaText } from "../../contract/limits.ts";
import { isOld } from "../session/reading.ts";
import type { Session } from "../session/session.ts";
import type { Waits } from "../start/waits.ts";
import type { StatusFacts, UsedService } from "./statusFacts.ts";
import { writeTooltip } from "./tooltip.ts";

/** What the status bar shows. `icon` is a codicon's id; the text beside it is what a screen reader says. */
export interface Presentation {
  readonly icon: string | undefined;
  readonly text: string;
  readonly background: "warning" | "error" | undefined;
}

export interface QuotaStatusDeps {
  readonly item: Pick<
    StatusBarItem,
    "text" | "tooltip" | "backgroundColor" | "command" | "accessibilityInformation" | "show" | "hide"
  >;
  readonly session: Pick<Session, "state" | "reading" | "followed">;
  readonly waits: Pick<Waits, "current">;
  /** What is put off until 00:00 UTC, in words; an empty text for nothing. */
  readonly later?: { readonly text: () => string; readonly follow: (listener: () => void) => Disposable };
  readonly used: () => UsedService | undefined;
  readonly clock: Clock;
  /** Makes the editor's colour of a name. */
  readonly color: (name: string) => NonNullable<StatusBarItem["backgroundColor"]>;
  /** A new text with icons. */
  readonly markdown: () => MarkdownString;
  /** Whether a command is contributed. */
  readonly isThere: (command: string) => boolean;
}

/** How often the time to the reset and the age of the number are counted anew, in milliseconds. */
const countEvery = 30_000;

/** The one status-bar item, which says how many of the day's runs are used, or why that isn't known. */
export class QuotaStatus implements Disposable {
  readonly #deps: QuotaStatusDeps;
  readonly #following: readonly Disposable[];
  readonly #disposed = new AbortController();

  constructor(deps: QuotaStatusDeps) {
    const { session, waits, later } = deps;
    this.#deps = deps;
    const show = () => this.#show();
    this.#following = [
      session.state.follow(show),
      session.reading.follow(show),
      waits.current.follow(show),
      ...(later === undefined ? [] : [later.follow(show)]),
    ];
    void this.#count(this.#disposed.signal);
  }

  /** All that is shown something of, as it is now. */
  facts(): StatusFacts {
    const { session, waits, later, used, clock } = this.#deps;
    return {
      state: session.state.value,
      reading: session.reading.value,
      waits: waits.current.value,
      later: later?.text() ?? "",
      used: used(),
      now: clock.now(),
    };
  }

  dispose(): void {
    this.#disposed.abort();
    for (const following of this.#following) following.dispose();
  }

  #show(): void {
    const { item, color, markdown, isThere } = this.#deps;
    const facts = this.facts();
    const shown = present(facts);
    if (shown === undefined) {
      item.hide();
      return;
    }
    item.text = shown.icon === undefined ? shown.text : `$(${shown.icon}) ${shown.text}`;
    const tooltip = markdown();
    writeTooltip(facts, isThere, tooltip);
    item.tooltip = tooltip;
    // Some texts name the product themselves.
    const label = shown.text.startsWith("Pipeline Runs") ? shown.text : `Pipeline Runs: ${shown.text}`;
    item.accessibilityInformation = { label, role: "button" };
    item.backgroundColor =
      shown.background === undefined ? undefined : color(`statusBarItem.${shown.background}Background`);
    item.command = "pipelineRuns.showMenu";
    item.show();
  }

  async #count(signal: AbortSignal): Promise<void> {
    const { clock, session } = this.#deps;
    while (!signal.aborted) {
      if (session.state.value.kind === "live") this.#show();
      await clock.sleep(countEvery, signal).catch(() => undefined);
    }
  }
}

/** What to show; undefined for nothing. What is put off is shown whatever is known of the service. */
export function present(
  facts: Pick<StatusFacts, "state" | "reading" | "waits" | "later" | "now">,
): Presentation | undefined {
  const { later } = facts;
  const shown = presentNow(facts);
  if (later === "") return shown;
  if (shown === undefined) return { icon: "watch", text: later, background: undefined };
  return { ...shown, text: `${shown.text} · ${later}` };
}

function presentNow({
  state,
  reading,
  waits,
  now,
}: Pick<StatusFacts, "state" | "reading" | "waits" | "now">): Presentation | undefined {
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
        ? { icon: "debug-disconnect", text: t("Pipeline Runs: out of reach"), background: "warning" }
        : { icon: "warning", text: t("Pipeline Runs: base URL can't be used"), background: "warning" };
    case "not-supported":
      return { icon: "warning", text: t("Pipeline Runs: not for this workspace"), background: "warning" };
    case "live": {
      // The number at hand is yesterday's.
      if (reading === undefined) {
        return { icon: "sync~spin", text: t("Pipeline Runs: asking for the new day"), background: undefined };
      }
      const [wait] = waits;
      const isBusy = state.inWork !== undefined && state.inWork.length > 0;
      const level = quotaLevel(state.org);
      return {
        icon: wait !== undefined ? "watch" : isBusy ? "sync~spin" : undefined,
        text: [
          quotaText(state.org),
          ...(isOld(reading, now) ? [t("as of {0}", new Date(reading.at).toLocaleTimeString())] : []),
          ...(wait === undefined ? [] : [t("waiting, {0} s left", wait.secondsLeft)]),
        ].join(" · "),
        background: level === "used-up" ? "error" : level === "low" ? "warning" : undefined,
      };
    }
    default:
      return state satisfies never;
  }
}
