import { t } from "@vscode/l10n";

/** A duration in milliseconds, short, as a row has room for it: `0.4 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function durationText(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < 10_000) return t("{0} s", (Math.floor(passed / 100) / 10).toFixed(1));
  return wholeSeconds(passed);
}

/** The same of something that goes on, which moves once a second: no part of a second is told. */
export function elapsedText(milliseconds: number): string {
  return wholeSeconds(Math.max(0, milliseconds));
}

/**
 * When something was, in the person's own time: the time of day, and for another day its date. It doesn't go stale as
 * "5 minutes ago" would, so a row needs no redrawing.
 * @param at and `now` in milliseconds since 1970.
 */
export function momentText(at: number, now: number): string {
  const moment = new Date(at);
  const today = new Date(now);
  if (moment.toDateString() === today.toDateString()) {
    return timeOfDay.format(moment);
  }
  return (moment.getFullYear() === today.getFullYear() ? dayOfYear : dayOfAnyYear).format(moment);
}

// Made once: there may be thousands of rows, and to make one takes longer than all else of a row.
const timeOfDay = new Intl.DateTimeFormat([], { hour: "numeric", minute: "2-digit" });
const dayOfYear = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });
const dayOfAnyYear = new Intl.DateTimeFormat([], { day: "numeric", month: "short", year: "numeric" });

/** A status as people say it; one that isn't known stays as the service gave it (contract: "Endpoints"). */
export function statusText(status: string): string {
  switch (status) {
    case "running":
      return t("running");
    case "cancelling":
      return t("cancelling");
    case "succeeded":
      return t("succeeded");
    case "failed":
      return t("failed");
    case "cancelled":
      return t("cancelled");
    case "timed-out":
      return t("timed out");
    case "lost":
      return t("lost");
    // Of a step whose run was ended while it was in work.
    case "stopped":
      return t("stopped");
    default:
      return status;
  }
}

/** An id in short, for a row: its kind and its last letters, `key_…7F3A`; the tooltip has all of it. */
export function shortId(id: string): string {
  const [, kind = "", rest = ""] = /^([a-z]+_)?(.*)$/su.exec(id) ?? [];
  return rest.length <= 8 ? id : `${kind}…${rest.slice(-4)}`;
}

function wholeSeconds(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return t("{0} s", seconds);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("{0} min {1} s", minutes, seconds % 60);
  return t("{0} h {1} min", Math.floor(minutes / 60), minutes % 60);
}

/** How long something took, as a person reads it; undefined while one of its instants (RFC 3339) is not known. */
export function tookText(from: string | undefined, to: string | undefined): string | undefined {
  return from === undefined || to === undefined ? undefined : durationText(Date.parse(to) - Date.parse(from));
}
