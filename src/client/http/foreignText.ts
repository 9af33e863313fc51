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
  return plain.length > longest ? `${plain.slice(0, longest)}…` : plain;
}

/** The same of a text that says something else on each of its lines, which it keeps; empty ones go. */
export function foreignLines(text: string, apiKey: string): string {
  const lines = text.split(/[\r\n]+/).flatMap((line) => foreignText(line, apiKey) || []);
  return (lines.length > mostLines ? [...lines.slice(0, mostLines), "…"] : lines).join("\n");
}

/** The text with every echo of the API key replaced. */
export function withoutKey(text: string, apiKey: string): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "(the API key)");
}
