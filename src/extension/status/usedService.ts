import { t } from "@vscode/l10n";
import type { ServiceChoice } from "../serviceChoice.ts";
import type { Session } from "../session.ts";
import type { UsedService } from "./statusFacts.ts";

/** Which service and key a window uses, and why; undefined while none is followed. */
export function usedService(
  session: Pick<Session, "followed" | "entered">,
  choice: Pick<ServiceChoice, "target" | "source">,
): UsedService | undefined {
  const target = choice.target();
  if (session.followed === undefined || target.kind === "invalid") return undefined;
  return {
    name: target.kind === "embedded" ? t("This machine's own service") : target.baseUrl.host,
    isOwn: target.kind === "embedded" && !session.entered,
    source: choice.source(),
  };
}
