import { unshown } from "./unshown.ts";

/** A look of letters, or a character that is not shown. A carriage return that only ends a line is passed over. */
const found = new RegExp(`\u001b\\[[0-9;:]*m|\\r(?=\\n)|(?![\\n\\t])[${unshown}]`, "gu");

/** Most texts are letters of ASCII: to see that takes less than to make the other pattern. */
const ascii = /^[\t\n -~]*$/;

/**
 * Lines of text that may hold something from elsewhere, with nothing in them that drives a terminal: the last net below
 * what cleans each text where it comes in. Line ends and tabs stay.
 * @param hasColor whether the looks of letters, such as colours, stay as well.
 */
export function harmless(text: string, hasColor: boolean): string {
  if (ascii.test(text)) return text;
  return text.replace(found, (what) => {
    if (what === "\r") return "";
    return what.length === 1 ? "\ufffd" : hasColor ? what : "";
  });
}
