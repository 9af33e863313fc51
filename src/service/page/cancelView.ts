import { html } from "hono/html";
import { mayChangeRuns } from "../../contract/role.ts";
import { isInWork, type ServedRun } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import type { Html } from "./html.ts";

/** The button that cancels a run: only while it can be cancelled, and only for who may. @param back the page it is on. */
export function cancelView(run: ServedRun, caller: Caller, back: string): Html {
  if (!isInWork(run) || run.status === "cancelling" || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/${run.runId}/cancel">
<input type="hidden" name="back" value="${back}">
<button>Cancel<span class="unseen"> the run of ${run.pipeline}</span></button>
</form>`;
}

/** The button that cancels every run in work of the caller's own key; `count` of them can be. */
export function cancelMineView(count: number, caller: Caller, back: string): Html {
  if (count === 0 || !mayChangeRuns(caller.role)) return html``;
  return html`<form method="post" action="/app/runs/cancel-mine">
<input type="hidden" name="back" value="${back}">
<button>Cancel Mine (${count})<span class="unseen">: every run in work that your key started</span></button>
</form>`;
}
