import { unshown } from "../contract/unshown.ts";
import { toWire } from "../contract/wire.ts";

const unescaped = new RegExp(`[${unshown}]`, "gu");

/**
 * A value as JSON on one line. What a terminal might obey is escaped also where JSON needs no escape: the same value for
 * a program, and harmless for whoever looks at it.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(toWire(value)).replace(
    unescaped,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
