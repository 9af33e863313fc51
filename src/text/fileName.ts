import { controlCharacters } from "./controlCharacters.ts";

/** In characters: enough of an endless name. */
const mostLookedAt = 600;
const notInName = new RegExp(`[${controlCharacters}\\s/\\\\:*?"<>|%#]+`, "gu");

/**
 * A foreign name as that of one file on any system, where it is no hidden file and no option; it may be empty.
 * @param longest in UTF-16 units.
 */
export function asFileName(name: string, longest = mostLookedAt): string {
  return name
    .slice(0, mostLookedAt)
    .replace(notInName, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, longest)
    .toWellFormed();
}
