import { html } from "hono/html";
import type { ServedRun } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import type { RunPage } from "../store/runPages.ts";
import type { Html } from "./html.ts";
import { keyView } from "./keyView.ts";
import { type PlaceFacts, placeView } from "./placeView.ts";
import { quotaView } from "./quotaView.ts";
import { statusView } from "./statusView.ts";
import { timeView, tookView } from "./timeView.ts";

export interface RunsFacts extends PlaceFacts {
  readonly page: RunPage;
}

/** The page of an org's runs. */
export function runsView(facts: RunsFacts): Html {
  const { org, now, page } = facts;
  return html`<h1>Runs</h1>
${quotaView(org, now)}
${placeView(facts)}
<section aria-labelledby="history-title">
<h2 id="history-title">History</h2>
${page.runs.length === 0 ? emptyView(page) : tableView(facts)}
${pagesView(page)}
</section>`;
}

function emptyView(page: RunPage): Html {
  if (page.newer !== undefined) return html`<p>There are no older runs.</p>`;
  return html`<div class="empty">
<p>No runs yet.</p>
<p class="quiet">Start one in a folder that holds <code>pipelines/hello.yaml</code>: with <code>pipeline run hello</code> in a terminal, or with
<b>Pipeline Runs: Run Pipeline…</b> in VS Code. It shows up here by itself.</p>
</div>`;
}

function tableView({ page, caller, now }: RunsFacts): Html {
  return html`<table class="runs">
<caption class="unseen">The org's runs, newest first</caption>
<thead><tr><th scope="col">Pipeline</th><th scope="col">Status</th><th scope="col" class="wide">Started by</th><th scope="col" class="wide">Started</th><th scope="col" class="wide number">Took</th></tr></thead>
<tbody>${page.runs.map((run) => rowView(run, caller, now))}</tbody>
</table>`;
}

function rowView(run: ServedRun, caller: Caller, now: number): Html {
  const took = tookView({ startedAt: run.createdAt, stoppedAt: run.stoppedAt }, now);
  return html`<tr id="${run.runId}" data-run="${run.pipeline}">
<th scope="row"><a href="/app/runs/${run.runId}"><bdi>${run.pipeline}</bdi></a>
<span class="quiet under"><bdi>${run.project}</bdi></span>
<span class="quiet under narrow">${timeView(run.createdAt)}, ${took}</span></th>
<td>${statusView(run.status)}</td>
<td class="wide">${keyView(run.actor, caller.keyId)}</td>
<td class="wide">${timeView(run.createdAt)}</td>
<td class="wide number">${took}</td>
</tr>`;
}

function pagesView({ newer, older }: RunPage): Html {
  if (newer === undefined && older === undefined) return html``;
  return html`<nav class="pages" aria-label="Pages of runs">
${newer === undefined ? "" : html`<a rel="prev" href="/app/runs?before=${newer}">← Newer</a>`}
${older === undefined ? "" : html`<a rel="next" href="/app/runs?after=${older}">Older →</a>`}
</nav>`;
}
