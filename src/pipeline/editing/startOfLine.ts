/** Where the line begins that an offset stands on. */
export function startOfLine(text: string, offset: number): number {
  // A search from before the beginning would look at the first character all the same.
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}
