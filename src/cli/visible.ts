/**
 * A text from elsewhere for one line of a terminal: what could drive the terminal, break the line or turn its reading
 * direction around shows as a replacement character.
 */
export function visible(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}
