import { unshown } from "./unshown.ts";

const hidden = new RegExp(`[${unshown}]`, "gu");

/**
 * A text from elsewhere for one line of a terminal: what could drive the terminal, break the line or turn its reading
 * direction around shows as a replacement character.
 */
export function visible(text: string): string {
  return text.toWellFormed().replace(hidden, "\ufffd");
}
