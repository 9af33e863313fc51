import { html } from "hono/html";
import { dayMilliseconds, utcDay } from "../../contract/limits.ts";
import { hideSecrets } from "../../machine/apiSecret.ts";
import type { Caller } from "../store/keys.ts";
import type { RunFilter } from "../store/runs.ts";
import type { Html } from "./layout.ts";
import { statusWord } from "./runParts.ts";

/** Which runs the reader wants to see. The filter is in the address, so that it works without script and can be shared. */
export interface PageFilter {
  readonly status: string | undefined;
  readonly pipeline: string | undefined;
  readonly isMine: boolean;
  /** The first and the last day, as `YYYY-MM-DD`. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** The time zone of those days. Undefined means UTC, as when the page's script hasn't filled in the reader's. */
  readonly zone: string | undefined;
}

/** The statuses to filter by; `in-work` is every active run. */
const statuses = ["in-work", "succeeded", "failed", "cancelled", "timed-out", "lost"] as const;

/** Reads a filter from an address's query. Values that the form doesn't offer are ignored; an API key as a pipeline is hidden. */
export function filterOf(query: Readonly<Record<string, string>>): PageFilter {
  const pipeline = hideSecrets(query["pipeline"]?.trim() ?? "");
  return {
    status: statuses.find((known) => known === query["status"]),
    pipeline: pipeline === "" ? undefined : pipeline,
    isMine: query["mine"] === "yes",
    from: dayIn(query["from"]),
    to: dayIn(query["to"]),
    zone: zoneIn(query["zone"]),
  };
}

function dayIn(text = ""): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const at = Date.parse(`${text}T00:00Z`);
  // `Date.parse` takes a day that its month doesn't have as one of the next month.
  return !Number.isNaN(at) && utcDay(at) === text ? text : undefined;
}

function zoneIn(text = ""): string | undefined {
  try {
    return text === ""
      ? undefined
      : new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

export function queryOf(filter: PageFilter, { keyId }: Caller): RunFilter {
  const { status, pipeline, isMine, from, to, zone = "UTC" } = filter;
  return {
    status,
    pipeline,
    actor: isMine ? keyId : undefined,
    since: from === undefined ? undefined : startOfDay(from, 0, zone),
    until: to === undefined ? undefined : startOfDay(to, 1, zone),
  };
}

/** When the day that comes `later` days after another begins in a time zone, in milliseconds since 1970. */
function startOfDay(day: string, later: number, zone: string): number {
  const wanted = Date.parse(`${day}T00:00Z`) + later * dayMilliseconds;
  // The clocks there may change between the guess and the day's beginning.
  const guess = wanted - offsetAt(wanted, zone);
  return wanted - offsetAt(guess, zone);
}

/** By how much a zone's clocks are ahead of UTC, in milliseconds. */
function offsetAt(instant: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" }).formatToParts(
    instant,
  );
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign, hours, minutes, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
  if (sign === undefined) return 0;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * (sign === "-" ? -1000 : 1000);
}

export function isFiltered(filter: PageFilter): boolean {
  const { status, pipeline, isMine } = filter;
  return status !== undefined || pipeline !== undefined || isMine || isDated(filter);
}

function isDated({ from, to }: PageFilter): boolean {
  return from !== undefined || to !== undefined;
}

export function addressOf(
  { isMine, ...fields }: PageFilter,
  place: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, value);
  if (isMine) query.set("mine", "yes");
  for (const [name, value] of Object.entries(place)) query.set(name, value);
  return `/app/runs?${query}`;
}

/** The form that asks for a filter. @param pipelines the names that it suggests. */
export function filterView(filter: PageFilter, pipelines: readonly string[]): Html {
  const { status, pipeline = "", isMine, from = "", to = "" } = filter;
  const { zone = isDated(filter) ? "UTC" : "" } = filter;
  const options = statuses.map(
    (one) =>
      html`<option value="${one}"${one === status ? html` selected` : ""}>${one === "in-work" ? "Active" : statusWord(one)}</option>`,
  );
  return html`<form class="filter" method="get" action="/app/runs" role="search" aria-label="Runs">
<label>Status <select name="status"><option value="">Any</option>${options}</select></label>
<label>Pipeline <input name="pipeline" list="pipelines" value="${pipeline}" size="16" maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="none"></label>
<datalist id="pipelines">${pipelines.map((name) => html`<option value="${name}"></option>`)}</datalist>
<label>From <input type="date" name="from" value="${from}"></label>
<label>To <input type="date" name="to" value="${to}"></label>
<span class="quiet" data-zone>${zone || "UTC"}</span><input type="hidden" name="zone" value="${zone}">
<label class="choice"><input type="checkbox" name="mine" value="yes"${isMine ? html` checked` : ""}> Only mine</label>
<button>Filter</button>
${isFiltered(filter) ? html`<a href="/app/runs">Show all</a>` : ""}
</form>`;
}
