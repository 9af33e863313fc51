import { html } from "hono/html";
import { quotaLevel } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import { cancelMineView, cancelView } from "./cancelView.ts";
import type { Html } from "./html.ts";
import { keyView } from "./keyView.ts";
import { statusView } from "./statusView.ts";
import { leftView } from "./timeView.ts";

export interface PlaceFacts {
  readonly org: Org;
  readonly caller: Caller;
  /** The runs in work, oldest first. */
  readonly inWork: readonly ServedRun[];
  /** How many starts wait for a place. */
  readonly waiting: number;
  readonly now: number;
  readonly back: string;
}

/** Who holds the org's place, for how long at most, and how many wait for it. */
export function placeView(facts: PlaceFacts): Html {
  const { org, caller, inWork, back } = facts;
  const mine = inWork.filter(({ actor, status }) => actor === caller.keyId && status !== "cancelling");
  return html`<section class="place" aria-labelledby="place-title">
<div class="title">
<h2 id="place-title">${org.limits.parallelRuns === 1 ? "The place" : `${org.limits.parallelRuns} places`}</h2>
${cancelMineView(mine.length, caller, back)}
</div>
${inWork.length === 0 ? html`<p class="nobody">${freeText(org)}</p>` : holders(facts)}
${waitingText(facts.waiting, org)}
</section>`;
}

function holders({ inWork, caller, now, back }: PlaceFacts): Html {
  const items = inWork.map(
    (run) => html`<li id="holder-${run.runId}" data-instead="${run.runId}">
<div class="what">
<a href="/app/runs/${run.runId}"><bdi>${run.pipeline}</bdi></a>
<p class="quiet">started by ${keyView(run.actor, caller.keyId)}, ${timeLeft(run, now)}</p>
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
  return html`${leftView(endsAt, now)} left of ${run.timeLimitSeconds} s`;
}

function freeText(org: Org): string {
  return quotaLevel(org) === "used-up" ? "Free, but no run is left today." : "Free: a run can start now.";
}

function waitingText(waiting: number, org: Org): Html {
  if (waiting === 0) return html``;
  const who = waiting === 1 ? "1 request waits" : `${waiting} requests wait`;
  return html`<p class="waiting">${who} for ${org.limits.parallelRuns === 1 ? "the place" : "a place"}.</p>`;
}
