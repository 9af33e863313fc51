import { html } from "hono/html";
import { hideSecrets } from "../../machine/apiSecret.ts";
import type { Caller } from "../store/keys.ts";
import type { RunFilter } from "../store/runs.ts";
import type { Html } from "./layout.ts";
import { statusWord } from "./runParts.ts";

/** Which runs the reader wants to see. The address has it, so that it works without script and can be shared. */
export interface PageFilter {
  readonly status: string | undefined;
  readonly pipeline: string | undefined;
  readonly isMine: boolean;
}

/** What one can ask for; `in-work` is every active run. */
const statuses = ["in-work", "succeeded", "failed", "cancelled", "timed-out", "lost"] as const;

/** Reads a filter from an address's query. A status that nobody can choose is ignored, and a key in place of a pipeline hidden. */
export function filterOf(query: Readonly<Record<string, string>>): PageFilter {
  const pipeline = hideSecrets(query["pipeline"]?.trim() ?? "");
  return {
    status: statuses.find((known) => known === query["status"]),
    pipeline: pipeline === "" ? undefined : pipeline,
    isMine: query["mine"] === "yes",
  };
}

export function queryOf({ status, pipeline, isMine }: PageFilter, { keyId }: Caller): RunFilter {
  return { status, pipeline, actor: isMine ? keyId : undefined };
}

export function isFiltered({ status, pipeline, isMine }: PageFilter): boolean {
  return status !== undefined || pipeline !== undefined || isMine;
}

/** The address of a page of the runs that the filter shows. */
export function addressOf(
  { status, pipeline, isMine }: PageFilter,
  place: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({
    ...(status === undefined ? {} : { status }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(isMine ? { mine: "yes" } : {}),
    ...place,
  });
  return `/app/runs?${query}`;
}

/** The form that asks for a filter. @param pipelines the names that it suggests. */
export function filterView(filter: PageFilter, pipelines: readonly string[]): Html {
  const { status, pipeline = "", isMine } = filter;
  const options = statuses.map(
    (one) =>
      html`<option value="${one}"${one === status ? html` selected` : ""}>${one === "in-work" ? "Active" : statusWord(one)}</option>`,
  );
  return html`<form class="filter" method="get" action="/app/runs" role="search" aria-label="Runs">
<label>Status <select name="status"><option value="">Any</option>${options}</select></label>
<label>Pipeline <input name="pipeline" list="pipelines" value="${pipeline}" size="16" maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="none"></label>
<datalist id="pipelines">${pipelines.map((name) => html`<option value="${name}"></option>`)}</datalist>
<label class="choice"><input type="checkbox" name="mine" value="yes"${isMine ? html` checked` : ""}> Only mine</label>
<button>Filter</button>
${isFiltered(filter) ? html`<a href="/app/runs">Show all</a>` : ""}
</form>`;
}
