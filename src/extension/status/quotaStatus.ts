import { t } from "@vscode/l10n";
import type { Disposable, MarkdownString, StatusBarItem, TreeView } from "vscode";
import { readDayUse } from "../../client/follow/listRuns.ts";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { DayUse } from "../../text/dayUse.ts";
import type { Session } from "../session/session.ts";
import { type SessionState, serviceNow } from "../session/sessionState.ts";
import type { ResetRetries } from "../start/resetRetries.ts";
import { retriesText } from "../start/retryFiles.ts";
import type { Waits } from "../start/waits.ts";
import { ObservableValue } from "../window/observable.ts";
import { present, type StatusFacts, type UsedService } from "./statusFacts.ts";
import { writeTooltip } from "./tooltip.ts";

interface QuotaStatusDeps {
  readonly item: Pick<
    StatusBarItem,
    "text" | "tooltip" | "backgroundColor" | "command" | "accessibilityInformation" | "show" | "hide"
  >;
  readonly session: Pick<Session, "state" | "reading" | "currentClient">;
  readonly waits: Pick<Waits, "current">;
  readonly retries: Pick<ResetRetries, "pending">;
  readonly used: () => UsedService | undefined;
  readonly dayUse: ObservableValue<DayUse | undefined>;
  readonly clock: Clock;
  readonly color: (name: string) => NonNullable<StatusBarItem["backgroundColor"]>;
  /** Creates a Markdown text with icons. */
  readonly markdown: () => MarkdownString;
}

/** In milliseconds: how often the time to the reset and the age of the numbers are redrawn. */
const redrawInterval = 30_000;

/** The status-bar item: how many of the day's runs are used, or why that isn't known. */
export function showQuota(deps: QuotaStatusDeps): Disposable & { readonly facts: () => StatusFacts } {
  const { item, session, waits, retries, used, dayUse, clock, color, markdown } = deps;
  const facts = (): StatusFacts => ({
    state: session.state.value,
    reading: session.reading.value,
    waits: waits.current.value,
    use: dayUse.value,
    deferred: retriesText(retries.pending.value),
    used: used(),
    now: clock.now(),
  });
  const show = () => {
    const seen = facts();
    const shown = present(seen);
    if (shown === undefined) {
      item.hide();
      return;
    }
    item.text = shown.icon === undefined ? shown.text : `$(${shown.icon}) ${shown.text}`;
    const tooltip = markdown();
    writeTooltip(seen, tooltip);
    item.tooltip = tooltip;
    // Some texts begin with the product's name.
    const label = shown.text.startsWith("Pipeline Runs") ? shown.text : `Pipeline Runs: ${shown.text}`;
    item.accessibilityInformation = { label, role: "button" };
    item.backgroundColor =
      shown.background === undefined ? undefined : color(`statusBarItem.${shown.background}Background`);
    item.command = "pipelineRuns.showMenu";
    item.show();
  };
  const subscriptions = [
    session.state.observe(show),
    session.reading.observe(show),
    waits.current.observe(show),
    dayUse.observe(show),
    retries.pending.observe(show),
  ];
  const redrawing = repeat(clock, redrawInterval, async () => {
    if (session.state.value.kind === "live") show();
  });
  return {
    facts,
    dispose: () => {
      void redrawing.stop();
      for (const subscription of subscriptions) subscription.dispose();
    },
  };
}

/** Shows the badge of the views' icon: the number of one's own active runs; none for zero or unknown. */
export function showBadge(
  view: Pick<TreeView<unknown>, "badge">,
  state: ObservableValue<SessionState>,
): Disposable {
  let shown = 0;
  return state.observe((value) => {
    const count = mine(value);
    if (count === shown) return;
    shown = count;
    const tooltip = count === 1 ? t("You have 1 active run") : t("You have {0} active runs", count);
    view.badge = count === 0 ? undefined : { value: count, tooltip };
  });
}

function mine(state: SessionState): number {
  if (state.kind !== "live" || state.activeRuns === undefined) return 0;
  const { actor } = state.org;
  return state.activeRuns.filter((run) => run.actor === actor).length;
}

type FollowedSession = Pick<Session, "state" | "reading" | "currentClient">;

/** Who used the day's runs, read again each time their number changes. An idle window sends no request. */
export function watchDayUse(session: FollowedSession) {
  const use = new ObservableValue<DayUse | undefined>(undefined);
  /** What the use was read for: the service, org, key and number of runs. */
  let readFor = "";
  let reading = new AbortController();
  const update = async () => {
    const { currentClient } = session;
    const state = session.state.value;
    if (state.kind !== "live" || session.reading.value === undefined || currentClient === undefined) {
      readFor = "";
      use.set(undefined);
      return;
    }
    const { orgId, actor, usage } = state.org;
    const wanted = `${currentClient.baseUrl.href} ${orgId} ${actor} ${usage.runsToday}`;
    if (wanted === readFor) return;
    readFor = wanted;
    reading.abort();
    reading = new AbortController();
    const { signal } = reading;
    const now = serviceNow(session.reading.value, currentClient.clock.now());
    const read = await readDayUse(currentClient, state.org, now, signal).catch(() => undefined);
    if (!signal.aborted) use.set(read);
  };
  const subscription = session.state.observe(() => void update());
  return {
    use,
    dispose: () => {
      subscription.dispose();
      reading.abort();
    },
  };
}
