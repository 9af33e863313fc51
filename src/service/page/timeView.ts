import { html } from "hono/html";
import { duration, wholeSeconds } from "./duration.ts";
import type { Html } from "./html.ts";

/** An instant in UTC; the page's script shows it in the reader's own zone. */
export function timeView(instant: string): Html {
  return html`<time datetime="${instant}">${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC</time>`;
}

/** How long something took, or has taken by now: then the script counts on. Empty for what never began. */
export function tookView(
  span: { readonly startedAt?: string | undefined; readonly stoppedAt?: string | undefined },
  now: number,
): Html {
  if (span.startedAt === undefined) return html``;
  const began = Date.parse(span.startedAt);
  if (span.stoppedAt !== undefined) return html`${duration(Date.parse(span.stoppedAt) - began)}`;
  return html`<span data-since="${began}">${wholeSeconds(now - began)}</span> so far`;
}

/** The seconds that are left; the script counts on. @param endsAt milliseconds since 1970. */
export function leftView(endsAt: number, now: number): Html {
  return html`<span data-until="${endsAt}">${wholeSeconds(endsAt - now)}</span>`;
}
