const longest = 400;

/**
 * A text that came from outside, made fit to be shown: on one line, without control characters, not too long, and
 * without the API key, in case whoever wrote it repeats what it was sent.
 */
export function foreignText(text: string, apiKey: string): string {
  const plain = withoutKey(text, apiKey)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  return plain.length > longest ? `${plain.slice(0, longest)}…` : plain;
}

/** The text with every echo of the API key replaced. */
export function withoutKey(text: string, apiKey: string): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "(the API key)");
}
