import type { Reading } from "../session/reading.ts";
import type { SessionState } from "../session.ts";
import type { Wait } from "../waits.ts";

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
