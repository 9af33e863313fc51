import truncatedWidth from "fast-string-truncated-width";

/** How many columns a text takes on a terminal: colours none, wide letters two. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}
