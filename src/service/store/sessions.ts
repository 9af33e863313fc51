import { createHash, randomBytes } from "node:crypto";
import type { Caller } from "./keys.ts";
import type { Database, Write } from "./tables.ts";

/** How long a session of the page lasts without use, and at most, in milliseconds. */
const sessionLasts = { unused: 12 * 3_600_000, atMost: 7 * 86_400_000 } as const;

/** A key has no more sessions than this; the one that was unused for longest gives way. */
const mostOfOneKey = 20;

/** Each use would otherwise be a write that waits for the disk; in milliseconds. */
const noteUseEvery = 60_000;

/** A signed-in browser: what its key may do, for as long as the key is good. */
export interface Session {
  /** Tells this session from others; the id that the browser holds can't be found from it. */
  readonly hash: string;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
}

/**
 * Signs a browser in. Sessions that are over are removed on the way, so that the table stays as small as its use.
 * @returns the id for the browser to keep, of which only a hash is stored; undefined when the key was revoked.
 */
export async function createSession(tx: Write, keyId: string, now: number): Promise<string | undefined> {
  if ((await findKey(tx, keyId)) === undefined) return undefined;
  await removeEnded(tx, now);
  await removeOldest(tx, keyId);
  const id = randomBytes(32).toString("base64url");
  await tx
    .insertInto("sessions")
    .values({ hash: hashOf(id), key_id: keyId, created_at: now, used_at: now })
    .execute();
  return id;
}

/** @returns undefined for an id that is no session's, for one that is over, and once its key is revoked. */
export async function findSession(db: Database, id: string, now: number): Promise<Session | undefined> {
  const hash = hashOf(id);
  const row = await db
    .selectFrom("sessions")
    .innerJoin("keys", "keys.id", "sessions.key_id")
    .select(["keys.id", "keys.org_id", "keys.role", "sessions.used_at"])
    .where("sessions.hash", "=", hash)
    .where("keys.revoked_at", "is", null)
    .where("sessions.used_at", ">", now - sessionLasts.unused)
    .where("sessions.created_at", ">", now - sessionLasts.atMost)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return { hash, usedAt: row.used_at, caller: { keyId: row.id, orgId: row.org_id, role: row.role } };
}

/** Whether a session's use is worth a write. */
export function isUseToNote({ usedAt }: Session, now: number): boolean {
  return now - usedAt >= noteUseEvery;
}

/** Puts off the end of a session that is being used. */
export async function noteUse(tx: Write, { hash }: Session, now: number): Promise<void> {
  await tx.updateTable("sessions").set({ used_at: now }).where("hash", "=", hash).execute();
}

/** What a key may do, without its secret; undefined once it is revoked. */
export async function findKey(db: Database, keyId: string): Promise<Caller | undefined> {
  const key = await db
    .selectFrom("keys")
    .select(["id", "org_id", "role"])
    .where("id", "=", keyId)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return key === undefined ? undefined : { keyId: key.id, orgId: key.org_id, role: key.role };
}

/** Signs a browser out. */
export async function endSession(tx: Write, hash: string): Promise<void> {
  await tx.deleteFrom("sessions").where("hash", "=", hash).execute();
}

/** Signs every browser out. */
export async function endAllSessions(db: Database): Promise<void> {
  await db.deleteFrom("sessions").execute();
}

async function removeEnded(tx: Write, now: number): Promise<void> {
  const revoked = tx.selectFrom("keys").select("id").where("revoked_at", "is not", null);
  await tx
    .deleteFrom("sessions")
    .where(({ or, eb }) =>
      or([
        eb("used_at", "<=", now - sessionLasts.unused),
        eb("created_at", "<=", now - sessionLasts.atMost),
        eb("key_id", "in", revoked),
      ]),
    )
    .execute();
}

async function removeOldest(tx: Write, keyId: string): Promise<void> {
  const staying = tx
    .selectFrom("sessions")
    .select("hash")
    .where("key_id", "=", keyId)
    .orderBy("used_at", "desc")
    .limit(mostOfOneKey - 1);
  await tx.deleteFrom("sessions").where("key_id", "=", keyId).where("hash", "not in", staying).execute();
}

function hashOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
