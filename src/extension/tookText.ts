import { durationText } from "./views/inWords.ts";

/** How long something took, as a person reads it; undefined while one of its instants (RFC 3339) is not known. */
export function tookText(from: string | undefined, to: string | undefined): string | undefined {
  return from === undefined || to === undefined ? undefined : durationText(Date.parse(to) - Date.parse(from));
}
