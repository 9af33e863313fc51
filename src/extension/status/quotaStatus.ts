import { t } from "@vscode/l10n";
import type { Disposable, MarkdownString, StatusBarItem, TreeView } from "vscode";
import { readDayUse } from "../../client/follow/listRuns.ts";
import { quotaText, secondsToReset } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { type Clock, repeat } from "../../machine/clock.ts";
import { type DayUse, paceText, useText } from "../../text/dayUse.ts";
import { placeText, resetText } from "../../text/refusalText.ts";
import { timeOfDay } from "../../text/time.ts";
import { originText } from "../keys/serviceChoice.ts";
import { type OrgReading, type SessionState, serviceNow } from "../session/serviceConnection.ts";
import type { Session } from "../session/session.ts";
import { type ResetRetries, retriesText } from "../start/resetRetries.ts";
import type { Waits } from "../start/waitNotice.ts";
import { ObservableValue } from "../window/observable.ts";
import { appendWords } from "../window/plainWindow.ts";
import {
  present,
  type StatusAction,
  type StatusFacts,
  statusActionsFor,
  type UsedService,
} from "./statusFacts.ts";

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

type Markdown = Pick<MarkdownString, "appendMarkdown" | "appendText"> & {
  isTrusted?: MarkdownString["isTrusted"];
};

const cells = 20;
const mostNamed = 5;

/**
 * Writes the status item's tooltip with links to commands. Foreign names are written as plain text; only the links' commands are
 * trusted.
 */
export function writeTooltip(facts: StatusFacts, into: Markdown): void {
  const { state } = facts;
  switch (state.kind) {
    case "idle":
    case "connecting":
      appendWords(into, t("Connecting to the service."));
      break;
    case "no-key":
      appendWords(
        into,
        state.refused
          ? t("{0} doesn't accept the API key.", originText(state.origin))
          : t("There is no API key for {0}.", state.origin),
      );
      break;
    case "out-of-reach":
      appendWords(into, state.problem);
      if (state.retried) {
        paragraph(into);
        appendWords(into, t("Retrying automatically."));
      }
      break;
    case "stopped":
      appendWords(into, t("This machine's own service was stopped. A run starts it again."));
      break;
    case "not-supported":
      appendWords(into, state.problem);
      break;
    case "live":
      writeLive(state, facts, into);
      break;
    default:
      state satisfies never;
  }
  writeLinks(statusActionsFor(facts), into);
}

function writeLive(
  { org, activeRuns }: { readonly org: Org; readonly activeRuns: readonly Run[] | undefined },
  { reading, use, used, waits, now }: StatusFacts,
  into: Markdown,
): void {
  into.appendMarkdown("**");
  appendWords(into, org.orgName);
  into.appendMarkdown("** · ");
  appendWords(into, t("tier {0}", org.tier));
  paragraph(into);
  if (reading === undefined) {
    appendWords(into, t("A new day began at 00:00 UTC. Loading its runs."));
  } else {
    into.appendMarkdown(`\`${bar(org)}\` `);
    appendWords(into, quotaText(org));
    paragraph(into);
    line(into, resetText(secondsToReset(serviceNow(reading, now)), now, t));
    if (use !== undefined) writeUse(org, use, reading, now, into);
    if (activeRuns !== undefined) writePlaces(org, activeRuns, into);
    for (const { pipeline, place } of waits) {
      if (place === undefined) continue;
      line(into, t("{0}: {1} in the queue", pipeline, placeText(place, t)), "$(watch) ");
    }
    writeFreshness(reading, into);
  }
  if (used !== undefined) writeUsed(used, org, into);
}

/** The day's usage as a bar: never empty once a run is used, never full while one is left. */
export function bar({ usage: { runsToday }, limits: { runsPerDay } }: Org): string {
  const share = runsPerDay === 0 ? 1 : Math.min(1, runsToday / runsPerDay);
  const rounded = Math.round(share * cells);
  const full = share >= 1 ? cells : Math.min(cells - 1, runsToday > 0 ? Math.max(1, rounded) : 0);
  return "━".repeat(full) + "─".repeat(cells - full);
}

/** Who used the day's runs, and how long they will last at this pace. */
function writeUse(org: Org, use: DayUse, reading: OrgReading, now: number, into: Markdown): void {
  const who = useText(use, org.actor, t);
  if (who !== undefined) line(into, who, "$(graph) ");
  const pace = paceText(org, { servedAt: serviceNow(reading, now), now }, t);
  if (pace !== undefined) line(into, pace);
}

function writePlaces(org: Org, activeRuns: readonly Run[], into: Markdown): void {
  into.appendMarkdown("$(server-process) ");
  appendWords(into, slotsText(activeRuns.length, org.limits.parallelRuns));
  for (const [position, run] of activeRuns.slice(0, mostNamed).entries()) {
    into.appendMarkdown(position === 0 ? ": " : ", ");
    const name = nameOf(run);
    const starter = actorText(run);
    if (starter === undefined) appendWords(into, name);
    else
      appendWords(into, run.actor === org.actor ? t("{0} (yours)", name) : t("{0} (by {1})", name, starter));
  }
  if (activeRuns.length > mostNamed) {
    into.appendMarkdown(" ");
    appendWords(into, t("and {0} more", activeRuns.length - mostNamed));
  }
  paragraph(into);
}

function slotsText(used: number, all: number): string {
  if (all > 1) return t("{0} of {1} slots in use", used, all);
  return used === 0 ? t("The slot is free.") : t("The slot is in use");
}

function writeFreshness(reading: OrgReading, into: Markdown): void {
  if (reading.how === "followed") line(into, t("Live updates"), "$(pulse) ");
  else line(into, t("As of {0}; refreshed from time to time", timeOfDay(reading.at)), "$(history) ");
}

function writeUsed({ name, isOwn, source }: UsedService, org: Org, into: Markdown): void {
  into.appendMarkdown(isOwn ? "$(vm) " : "$(key) ");
  appendWords(into, isOwn ? name : t("{0}, with the key {1}", name, org.actor));
  if (source === "default") return;
  into.appendMarkdown(" ");
  const isChosen = source === "chosen";
  appendWords(into, isChosen ? t("(chosen for this workspace)") : t("(by the setting pipelineRuns.baseUrl)"));
}

function writeLinks(entries: readonly StatusAction[], into: Markdown): void {
  const links = entries.filter(({ inTooltip }) => inTooltip);
  into.appendMarkdown("\n\n---\n\n");
  for (const [position, { icon, label, command, args }] of links.entries()) {
    const query = args.length === 0 ? "" : `?${encodeURIComponent(JSON.stringify(args))}`;
    into.appendMarkdown(
      `${position === 0 ? "" : " &nbsp;·&nbsp; "}[$(${icon})&nbsp;${label}](command:${command}${query})`,
    );
  }
  into.isTrusted = { enabledCommands: [...new Set(links.map(({ command }) => command))] };
}

/** A paragraph with an optional icon before its text. */
function line(into: Markdown, text: string, icon = ""): void {
  if (icon !== "") into.appendMarkdown(icon);
  appendWords(into, text);
  paragraph(into);
}

function paragraph(into: Markdown): void {
  into.appendMarkdown("\n\n");
}
