import type { Clock } from "../../contract/clock.ts";
import type { Log } from "../log.ts";
import { revokedAmong } from "../store/listKeys.ts";
import type { Database } from "../store/tables.ts";
import type { OpenReplies } from "./openReplies.ts";

/**
 * How often to look, in milliseconds: `pipeline keys revoke` is another process, which writes the row and tells nobody.
 * A look is one query by primary key, and none while nothing is open.
 */
const lookEvery = 2_000;

interface EndRevokedDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly replies: OpenReplies;
  readonly log: Log;
}

/** Ends streams and held requests of keys that were revoked outside this process. @returns the way to stop looking. */
export function endRevoked({ db, clock, replies, log }: EndRevokedDeps): () => void {
  let stopped = false;
  let takeBack = () => {};
  const look = async () => {
    const keyIds = replies.keysInUse();
    try {
      for (const keyId of keyIds.length === 0 ? [] : await revokedAmong(db, keyIds)) replies.endOf(keyId);
    } catch (error) {
      if (!stopped) log("error", "revoked keys not looked for", { error });
    }
    if (!stopped) next();
  };
  const next = () => {
    takeBack = clock.after(lookEvery, () => void look());
  };
  next();
  return () => {
    stopped = true;
    takeBack();
  };
}
