import { t } from "@vscode/l10n";
import { nameOf, type Run } from "../../contract/run.ts";
import { tookText } from "../tookText.ts";
import { withoutIcons } from "../withoutIcons.ts";
import { endKind } from "./announceLevel.ts";

/** The end of a run as one sentence. @param isMine whether this window's key started it. */
export function endText(run: Run, isMine: boolean): string {
  const name = nameOf(run);
  const who = isMine || run.actor === undefined ? name : t("{0} (by {1})", name, run.actor);
  const kind = endKind(run);
  switch (kind) {
    case "success": {
      const took = tookText(run.createdAt, run.stoppedAt);
      return took === undefined ? t("{0} succeeded.", who) : t("{0} succeeded in {1}.", who, took);
    }
    case "cancelled":
      return t("{0} was cancelled.", who);
    case "failure": {
      const ended = failureText(run.status, who);
      return run.reason === undefined ? `${ended}.` : `${ended}: ${inShort(run.reason)}`;
    }
    default:
      return kind satisfies never;
  }
}

/** The same for the status bar, where it stands for some seconds; with an icon. */
export function endStatusText(run: Run): string {
  const icon = { success: "$(check)", failure: "$(error)", cancelled: "$(circle-slash)" }[endKind(run)];
  return `${icon} ${withoutIcons(endText({ ...run, reason: undefined }, true).replace(/\.$/, ""))}`;
}

function failureText(status: string, who: string): string {
  switch (status) {
    case "failed":
      return t("{0} failed", who);
    case "timed-out":
      return t("{0} timed out", who);
    case "lost":
      return t("{0} was lost", who);
    default:
      return t("{0} ended as {1}", who, status);
  }
}

/** The text on one line: what went wrong, and of the output that follows it the last line, which tells most. */
function inShort(text: string): string {
  const [first = "", ...others] = text.trim().split("\n");
  const last = others.at(-1)?.trim();
  return last === undefined ? first : `${first} ${last}`;
}
