import { t } from "@vscode/l10n";
import type { MarkdownString } from "vscode";
import { secondsToReset } from "../../contract/day.ts";
import { quotaText } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { type DayUse, paceText, useText } from "../../text/dayUse.ts";
import { placeText } from "../../text/queueText.ts";
import { resetText } from "../../text/refusalText.ts";
import { timeOfDay } from "../../text/time.ts";
import { originText } from "../keys/target.ts";
import { type OrgReading, serviceNow } from "../session/sessionState.ts";
import { type StatusAction, statusActionsFor } from "./statusActions.ts";
import type { StatusFacts, UsedService } from "./statusFacts.ts";

type Markdown = Pick<MarkdownString, "appendMarkdown" | "appendText"> & {
  isTrusted?: MarkdownString["isTrusted"];
};

const cells = 20;
const mostNamed = 5;

/**
 * Writes the status item's tooltip with links to commands. Names from elsewhere are written as plain text; only the
 * links' commands are trusted.
 */
export function writeTooltip(facts: StatusFacts, into: Markdown): void {
  const { state } = facts;
  switch (state.kind) {
    case "idle":
    case "connecting":
      words(t("Connecting to the service."), into);
      break;
    case "no-key":
      words(
        state.refused
          ? t("{0} doesn't accept the API key.", originText(state.origin))
          : t("There is no API key for {0}.", state.origin),
        into,
      );
      break;
    case "out-of-reach":
      words(state.problem, into);
      if (state.retried) {
        paragraph(into);
        words(t("Retrying automatically."), into);
      }
      break;
    case "stopped":
      words(t("This machine's own service was stopped. A run starts it again."), into);
      break;
    case "not-supported":
      words(state.problem, into);
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
  words(org.orgName, into);
  into.appendMarkdown("** · ");
  words(t("tier {0}", org.tier), into);
  paragraph(into);
  if (reading === undefined) {
    words(t("A new day began at 00:00 UTC. Loading its runs."), into);
  } else {
    into.appendMarkdown(`\`${bar(org)}\` `);
    words(quotaText(org), into);
    paragraph(into);
    words(resetText(secondsToReset(serviceNow(reading, now)), now, t), into);
    paragraph(into);
    if (use !== undefined) writeUse(org, use, reading, now, into);
    if (activeRuns !== undefined) writePlaces(org, activeRuns, into);
    for (const { pipeline, place } of waits) {
      if (place === undefined) continue;
      into.appendMarkdown("$(watch) ");
      words(t("{0}: {1} in the queue", pipeline, placeText(place, t)), into);
      paragraph(into);
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

/** Who used the day's runs, and how long they last at this pace. */
function writeUse(org: Org, use: DayUse, reading: OrgReading, now: number, into: Markdown): void {
  const who = useText(use, org.actor, t);
  if (who !== undefined) {
    into.appendMarkdown("$(graph) ");
    words(who, into);
    paragraph(into);
  }
  const pace = paceText(org, { servedAt: serviceNow(reading, now), now }, t);
  if (pace === undefined) return;
  words(pace, into);
  paragraph(into);
}

function writePlaces(org: Org, activeRuns: readonly Run[], into: Markdown): void {
  into.appendMarkdown("$(server-process) ");
  words(slotsText(activeRuns.length, org.limits.parallelRuns), into);
  for (const [position, run] of activeRuns.slice(0, mostNamed).entries()) {
    into.appendMarkdown(position === 0 ? ": " : ", ");
    const name = nameOf(run);
    const starter = actorText(run);
    if (starter === undefined) words(name, into);
    else words(run.actor === org.actor ? t("{0} (yours)", name) : t("{0} (by {1})", name, starter), into);
  }
  if (activeRuns.length > mostNamed) {
    into.appendMarkdown(" ");
    words(t("and {0} more", activeRuns.length - mostNamed), into);
  }
  paragraph(into);
}

function slotsText(used: number, all: number): string {
  if (all > 1) return t("{0} of {1} slots in use", used, all);
  return used === 0 ? t("The slot is free.") : t("The slot is in use");
}

function writeFreshness(reading: OrgReading, into: Markdown): void {
  if (reading.how === "followed") {
    into.appendMarkdown("$(pulse) ");
    words(t("Live updates"), into);
  } else {
    into.appendMarkdown("$(history) ");
    words(t("As of {0}; refreshed from time to time", timeOfDay(reading.at)), into);
  }
  paragraph(into);
}

function writeUsed({ name, isOwn, source }: UsedService, org: Org, into: Markdown): void {
  into.appendMarkdown(isOwn ? "$(vm) " : "$(key) ");
  words(isOwn ? name : t("{0}, with the key {1}", name, org.actor), into);
  switch (source) {
    case "chosen":
      into.appendMarkdown(" ");
      words(t("(chosen for this workspace)"), into);
      break;
    case "settings":
      into.appendMarkdown(" ");
      words(t("(by the setting pipelineRuns.baseUrl)"), into);
      break;
    case "default":
      break;
    default:
      source satisfies never;
  }
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

/** Plain text, word by word: the editor would not wrap a text of several words. */
function words(text: string, into: Markdown): void {
  for (const [position, word] of text.split(/\s+/).entries()) {
    if (position > 0) into.appendMarkdown(" ");
    into.appendText(word);
  }
}

function paragraph(into: Markdown): void {
  into.appendMarkdown("\n\n");
}
