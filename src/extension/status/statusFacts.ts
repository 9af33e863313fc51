import { t } from "@vscode/l10n";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import type { Reading } from "../session/reading.ts";
import type { Session, SessionState } from "../session/session.ts";
import type { Wait } from "../start/waits.ts";

/** All that the status item shows something of. */
export interface StatusFacts {
  readonly state: SessionState;
  /** Undefined while the numbers of `live` are another day's. */
  readonly reading: Reading | undefined;
  readonly waits: readonly Wait[];
  /** What is put off until 00:00 UTC, in words; nothing when empty. */
  readonly later: string;
  /** Which service and key are in use, and why. */
  readonly used: UsedService | undefined;
  /** This machine's clock, in milliseconds since 1970. */
  readonly now: number;
}

export interface UsedService {
  /** How people know it: its host, or this machine's own. */
  readonly name: string;
  /** Whether it is this machine's own service, as its own user. */
  readonly isOwn: boolean;
  readonly source: "chosen" | "settings" | "default";
}

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
