import { unshown } from "../../contract/unshown.ts";

const longest = 400;
const mostLines = 60;
const hidden = new RegExp(`[${unshown}\\s]+`, "gu");

/**
 * A text that came from outside, made fit to be shown: on one line, without control characters, not too long, and
 * without the API key, in case whoever wrote it repeats what it was sent.
 */
export function foreignText(text: string, apiKey: string): string {
  const plain = withoutKey(text, apiKey).replace(hidden, " ").trim();
  // Half of a letter may have come, and the cut may leave one.
  return (plain.length > longest ? `${plain.slice(0, longest)}…` : plain).toWellFormed();
}

/** The same of a text that says something else on each of its lines, which it keeps; empty ones go. */
export function foreignLines(text: string, apiKey: string): string {
  const lines = text.split(/[\r\n]+/).flatMap((line) => foreignText(line, apiKey) || []);
  return (lines.length > mostLines ? [...lines.slice(0, mostLines), "…"] : lines).join("\n");
}

/** A shorter key is no secret, and would be found in the middle of ids and words that aren't one. */
export const shortestSecret = 8;

/** The text with every echo of a key that is long enough to be one replaced: for texts that are shown as they are. */
export function withoutSecret(text: string, apiKey: string): string {
  return apiKey.length < shortestSecret ? text : withoutKey(text, apiKey);
}

/** The text with every echo of the API key replaced. */
function withoutKey(text: string, apiKey: string): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "(the API key)");
}
