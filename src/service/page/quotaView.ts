import { html, raw } from "hono/html";
import { nextReset } from "../../contract/day.ts";
import { quotaLevel, quotaText } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Html } from "./html.ts";
import { leftView, timeView } from "./timeView.ts";

/** The line that the service's description gives for this page, with the org's own tier and numbers. */
function quotaLine(org: Org): string {
  const tier = org.tier.charAt(0).toUpperCase() + org.tier.slice(1);
  return `${tier} tier: ${quotaText(org)}. The count starts again at 00:00 UTC.`;
}

/** Today's use: the line, a picture of it, and what it comes to when it is near the limit. */
export function quotaView(org: Org, now: number): Html {
  return html`<section class="today" aria-label="Today">
<p id="quota" role="status">${quotaLine(org)}</p>
${meter(org)}
${advice(org, now)}
</section>`;
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

/** More than this can't be told apart by eye. */
const mostBars = 100;

/** One bar a run, drawn by numbers alone; the line says the same in words, so it is hidden from who can't see it. */
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
