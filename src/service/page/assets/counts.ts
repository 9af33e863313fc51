import { wholeSeconds } from "../duration.ts";

/** Counts on what the service has rendered as seconds since or until an instant. @param now on the service's clock. */
export function showCounts(page: Document, now: number): void {
  for (const element of page.querySelectorAll<HTMLElement>("[data-since], [data-until]")) {
    const { since, until } = element.dataset;
    const text = wholeSeconds(since === undefined ? Number(until) - now : now - Number(since));
    if (element.textContent !== text) element.textContent = text;
  }
}
