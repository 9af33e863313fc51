import { t } from "@vscode/l10n";

/** How long something took, as a person reads it; undefined while one of its instants (RFC 3339) is not known. */
export function durationText(from: string | undefined, to: string | undefined): string | undefined {
  if (from === undefined || to === undefined) return undefined;
  const seconds = Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
  if (seconds < 9.95) return t("{0} s", seconds.toFixed(1));
  const whole = Math.round(seconds);
  if (whole < 60) return t("{0} s", whole);
  if (whole < 3600) return t("{0} min {1} s", Math.floor(whole / 60), whole % 60);
  return t("{0} h {1} min", Math.floor(whole / 3600), Math.floor((whole % 3600) / 60));
}
