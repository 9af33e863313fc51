/** A piece of the file, short and on one line, for the middle of a message. */
export function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
  const line = text.replace(/[\s\u0000-\u001f\u007f]+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
