import { unshown } from "../../contract/unshown.ts";

const hidden = new RegExp(`[${unshown}\\s]+`, "gu");

/** A name from elsewhere on one line, without what would drive or turn what is around it. */
export function inALine(text: string): string {
  return text.replace(hidden, " ").trim();
}
