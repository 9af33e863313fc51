import { t } from "@vscode/l10n";
import { plainText } from "../plainWindow.ts";
import { withoutIcons } from "../withoutIcons.ts";
import type { PendingRetry } from "./pendingRetry.ts";

/** What the status bar says of starts that are put off: `nightly at 00:00 UTC`. */
export function retriesText([first, ...others]: readonly PendingRetry[]): string {
  if (first === undefined) return "";
  if (others.length > 0) return t("{0} starts at 00:00 UTC", others.length + 1);
  return t("{0} at 00:00 UTC", plainText(withoutIcons(first.pipeline)));
}
