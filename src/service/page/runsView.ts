import { html, raw } from "hono/html";
import { nextReset, quotaLevel, quotaText } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { listedReason, type ServedRun } from "../../contract/run.ts";
import { type DayUse, namedUse, type UseCount, usedUpAt } from "../../text/dayUse.ts";
import { duration } from "../../text/time.ts";
import type { WaitingStart } from "../admission/queue.ts";
import type { Caller } from "../store/keys.ts";
import type { RunPage } from "../store/runs.ts";
import { type Html, marked } from "./layout.ts";
import { addressOf, filterView, isFiltered, type PageFilter } from "./runFilter.ts";
import {
  aboutView,
  againView,
  cancelMineView,
  cancelView,
  keyView,
  leftView,
  starterView,
  statusView,
  timeView,
  tookView,
} from "./runParts.ts";

interface RunsFacts extends SlotFacts {
  readonly use: DayUse;
  readonly filter: PageFilter;
  /** The names of the pipelines that have runs. */
  readonly pipelines: readonly string[];
  readonly page: RunPage;
}

/** The page of an org's runs. */
export function runsView(facts: RunsFacts): Html {
  const { page, filter } = facts;
  const isEverEmpty = page.runs.length === 0 && page.newer === undefined && !isFiltered(filter);
  return html`<h1>Runs</h1>
${quotaView(facts)}
${slotView(facts)}
<section aria-labelledby="history-title">
<h2 id="history-title">History</h2>
${isEverEmpty ? "" : filterView(filter, facts.pipelines)}
${page.runs.length === 0 ? emptyView(facts) : tableView(facts)}
${pagesView(facts)}
</section>
<p class="foot"><a href="/app/what-counts">What counts as a run?</a></p>`;
}

function emptyView({ page, filter }: RunsFacts): Html {
  if (page.newer !== undefined) return html`<p>There are no older runs.</p>`;
  if (isFiltered(filter)) return html`<p class="empty">No run matches.</p>`;
  return html`<div class="empty">
<p>No runs yet.</p>
<p class="quiet">Start one of the <a href="/app/pipelines">pipelines</a>, or in a folder that holds <code>pipelines/hello.yaml</code>: with <code>pipeline run hello</code> in a terminal, or with
<b>Pipeline Runs: Run Pipeline…</b> in VS Code. It shows up here by itself.</p>
</div>`;
}

function tableView({ page, caller, now }: RunsFacts): Html {
  return html`<table class="runs">
<caption class="unseen">The org's runs, newest first</caption>
<thead><tr><th scope="col">Pipeline</th><th scope="col">Status</th><th scope="col" class="wide">Started by</th><th scope="col" class="wide">Started</th><th scope="col" class="wide number">Took</th><th scope="col" class="wide"><span class="unseen">Run Again</span></th></tr></thead>
<tbody>${page.runs.map((run) => rowView(run, caller, now))}</tbody>
</table>`;
}

function rowView(run: ServedRun, caller: Caller, now: number): Html {
  const took = tookView({ startedAt: run.createdAt, stoppedAt: run.stoppedAt }, now);
  const reason = listedReason(run, caller.keyId);
  return html`<tr id="${run.runId}" data-run="${run.pipeline}">
<th scope="row"><a href="/app/runs/${run.runId}"><bdi>${run.pipeline}</bdi></a>
<span class="quiet under"><bdi>${run.project}</bdi></span>
<span class="quiet under narrow">${timeView(run.createdAt)}, ${took}</span></th>
<td>${statusView(run.status)}${reason === undefined ? "" : html`<span class="quiet under why" title="${reason}">${marked(reason)}</span>`}</td>
<td class="wide starter">${starterView(run, caller.keyId)}</td>
<td class="wide">${timeView(run.createdAt)}</td>
<td class="wide number">${took}</td>
<td class="wide again">${againView(run, caller)}</td>
</tr>`;
}

function pagesView({ page: { newer, older }, filter }: RunsFacts): Html {
  if (newer === undefined && older === undefined) return html``;
  return html`<nav class="pages" aria-label="Pages of runs">
${newer === undefined ? "" : html`<a rel="prev" href="${addressOf(filter, { before: newer })}">← Newer</a>`}
${older === undefined ? "" : html`<a rel="next" href="${addressOf(filter, { after: older })}">Older →</a>`}
</nav>`;
}

/** The line that the contract prescribes for this page ("Endpoints"), with the org's tier and numbers. */
function quotaLine(org: Org): string {
  const tier = org.tier.charAt(0).toUpperCase() + org.tier.slice(1);
  return `${tier} tier: ${quotaText(org)}. The count starts again at 00:00 UTC.`;
}

/** Today's usage: as a line, as a meter, and with advice when few runs are left. */
function quotaView(facts: RunsFacts): Html {
  const { org, now } = facts;
  return html`<section class="today" aria-label="Today">
<p id="quota" role="status">${quotaLine(org)}</p>
${meter(org)}
${advice(org, now)}
${useView(facts)}
</section>`;
}

/** Who used the day's runs, and how long they last. */
function useView({ org, use, caller, now }: RunsFacts): Html {
  if (use.byPipeline.length === 0) return html``;
  const end = usedUpAt(org, now);
  const pace =
    end === undefined
      ? ""
      : html` At this pace the day's last run starts at about ${aboutView(new Date(end).toISOString())}.`;
  return html`<p class="quiet use">Used by ${counts(use.byPipeline, ({ name }) => html`<bdi>${name}</bdi>`)}; started by
${counts(use.byActor, ({ actor, actorName }) => keyView(actor, actorName, caller.keyId))}.${pace}</p>`;
}

function counts<Count extends UseCount>(all: readonly Count[], nameOf: (of: Count) => Html): Html {
  const { named, others } = namedUse(all);
  return html`${named.map((of, at) => html`${at === 0 ? "" : ", "}${nameOf(of)} ${of.runs}`)}${
    others.count === 0 ? "" : `, ${others.count} others ${others.runs}`
  }`;
}

function advice(org: Org, now: number): Html {
  const left = Math.max(0, org.limits.runsPerDay - org.usage.runsToday);
  switch (quotaLevel(org)) {
    case "plenty":
      return html``;
    case "low":
      return html`<p class="advice">${left === 1 ? "1 run is" : `${left} runs are`} left today.</p>`;
    case "used-up": {
      const reset = nextReset(now);
      return html`<p class="advice"><strong>No run is left today.</strong> The next can start in ${leftView(reset, now)},
at ${timeView(new Date(reset).toISOString())}.</p>`;
    }
  }
}

/** More bars can't be told apart by eye. */
const mostBars = 100;

/** One bar for each run. Hidden from screen readers, since the line says the same; `raw` is safe, as it holds numbers only. */
function meter(org: Org): Html {
  const { runsPerDay } = org.limits;
  const used = Math.min(org.usage.runsToday, runsPerDay);
  const bars = Math.min(runsPerDay, mostBars);
  if (bars === 0) return html``;
  const full = Math.round((used / runsPerDay) * bars);
  const drawn = Array.from(
    { length: bars },
    (_, at) =>
      `<rect class="bar-${at < full ? "used" : "free"}" x="${at * 10}" y="0" width="7" height="10" rx="1.5"/>`,
  );
  return raw(
    `<svg class="meter ${quotaLevel(org)}" viewBox="0 0 ${bars * 10 - 3} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">${drawn.join("")}</svg>`,
  );
}

interface SlotFacts {
  readonly org: Org;
  readonly caller: Caller;
  /** Oldest first. */
  readonly activeRuns: readonly ServedRun[];
  /** The start requests that wait for a slot. */
  readonly waiting: readonly WaitingStart[];
  readonly now: number;
  readonly back: string;
}

/** The active runs, how long each may still take, and how many start requests wait. */
function slotView(facts: SlotFacts): Html {
  const { org, caller, activeRuns, back } = facts;
  const mine = activeRuns.filter(({ actor, status }) => actor === caller.keyId && status !== "cancelling");
  return html`<section class="slot" aria-labelledby="slot-title">
<div class="title">
<h2 id="slot-title">${org.limits.parallelRuns === 1 ? "The slot" : `${org.limits.parallelRuns} slots`}</h2>
${cancelMineView(mine.length, caller, back)}
</div>
${activeRuns.length === 0 ? html`<p class="nobody quiet">${quotaLevel(org) === "used-up" ? "Free, but no run is left today." : "Free: a run can start now."}</p>` : holders(facts)}
${queueView(facts)}
</section>`;
}

function holders({ activeRuns, caller, now, back }: SlotFacts): Html {
  const items = activeRuns.map(
    (run) => html`<li id="holder-${run.runId}" data-instead="${run.runId}">
<div class="what">
<a href="/app/runs/${run.runId}"><bdi>${run.pipeline}</bdi></a>
<p class="quiet">started by ${starterView(run, caller.keyId)}, ${timeLeft(run, now)}</p>
</div>
${statusView(run.status)}
${cancelView(run, caller, back)}
</li>`,
  );
  return html`<ul class="holders">${items}</ul>`;
}

function timeLeft(run: ServedRun, now: number): Html {
  if (run.status === "cancelling") return html`until its processes are gone`;
  const endsAt = Date.parse(run.createdAt) + run.timeLimitSeconds * 1000;
  return html`${leftView(endsAt, now)} left of ${duration(run.timeLimitSeconds * 1000)}`;
}

/** How many start requests in the queue the page names. */
const mostWaiters = 10;

/** The queue, the oldest request first. */
function queueView({ waiting, org, caller }: SlotFacts): Html {
  if (waiting.length === 0) return html``;
  const who = waiting.length === 1 ? "1 request waits" : `${waiting.length} requests wait`;
  const more = waiting.length - mostWaiters;
  return html`<p class="waiting quiet">${who} for ${org.limits.parallelRuns === 1 ? "the slot" : "a slot"}:</p>
<ol class="queue">${waiting
    .slice(0, mostWaiters)
    .map(
      ({ ticket, pipeline, actor, actor_name: name }) =>
        html`<li id="ticket-${ticket}"><bdi>${pipeline}</bdi> <span class="quiet">asked for by ${keyView(actor, name ?? undefined, caller.keyId)}</span></li>`,
    )}</ol>
${more > 0 ? html`<p class="quiet">and ${more} more</p>` : ""}`;
}
