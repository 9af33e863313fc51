import { html } from "hono/html";
import type { Html } from "./html.ts";

/** A key by its id, of which the end tells most: the beginning is the time it was made. */
export function keyView(keyId: string, own: string): Html {
  if (keyId === own) return html`<span title="${keyId}">you</span>`;
  const short = keyId.length > 14 ? `${keyId.slice(0, 4)}…${keyId.slice(-6)}` : keyId;
  return html`<code title="${keyId}">${short}</code>`;
}
