import { hash, randomBytes } from "node:crypto";
import { asCaller, type Caller, keyById } from "./keys.ts";
import type { Database, Write } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** The lifetime of a session of the page without use, and at most, in milliseconds. */
const lifetime = { unused: 12 * 3_600_000, atMost: 7 * 86_400_000 } as const;

/** The most sessions of a key. The one unused for longest is removed. */
const mostPerKey = 20;

/** How long a sign-in code can be used, in milliseconds, and how many a key has at most: a new one replaces the oldest. */
const signInCodes = { lifetime: 60_000, mostPerKey: 5 } as const;
/** The prefix of a code's hash, which is stored among the sessions until the code is used. No session's hash has it. */
const codePrefix = "code:";

/** How often the use of a session is written, in milliseconds. */
const useMilliseconds = 60_000;

/** A browser that is signed in to the page with a key. */
export interface PageSession {
  /** The hash of the id that the browser holds. */
  readonly hash: string;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
}

/**
 * Signs a browser in, and removes the key's expired sessions.
 * @returns the id for the browser, of which only a hash is stored; undefined when the key is revoked.
 */
export async function createSession(tx: Write, keyId: string, now: number): Promise<string | undefined> {
  if ((await findKey(tx, keyId)) === undefined) return undefined;
  await removeExpired(tx, keyId, now);
  await removeOldest(tx, keyId, "not like", mostPerKey);
  return addSession(tx, keyId, now);
}

/** @returns the secret. */
async function addSession(tx: Write, keyId: string, now: number, prefix = ""): Promise<string> {
  const secret = randomBytes(32).toString("base64url");
  const row = { hash: prefix + hashOf(secret), key_id: keyId, created_at: now, used_at: now };
  await tx.insertInto("sessions").values(row).execute();
  return secret;
}

/**
 * Makes a code that signs a browser in once, so that nobody has to type a key. Only its hash is stored.
 * @returns the code, and until when it can be used, in milliseconds since 1970.
 */
export async function createSignInCode(
  tx: Write,
  keyId: string,
  now: number,
): Promise<{ readonly code: string; readonly endsAt: number }> {
  await removeOldest(tx, keyId, "like", signInCodes.mostPerKey);
  const code = await addSession(tx, keyId, now, codePrefix);
  return { code, endsAt: now + signInCodes.lifetime };
}

/** The key of a valid code, which stays valid. */
export async function findSignInCode(db: Database, code: string, now: number): Promise<string | undefined> {
  const row = await db
    .selectFrom("sessions")
    .select("key_id")
    .where("hash", "=", `${codePrefix}${hashOf(code)}`)
    .where("created_at", ">", now - signInCodes.lifetime)
    .executeTakeFirst();
  return row?.key_id;
}

/** Consumes a code. @returns its key; undefined when it was used before or has expired. */
export async function useSignInCode(tx: Write, code: string, now: number): Promise<string | undefined> {
  const row = await tx
    .deleteFrom("sessions")
    .where("hash", "=", `${codePrefix}${hashOf(code)}`)
    .returning(["key_id", "created_at"])
    .executeTakeFirst();
  return row !== undefined && row.created_at > now - signInCodes.lifetime ? row.key_id : undefined;
}

/** @returns undefined for an unknown id, an expired session, and a revoked key. */
export async function findSession(db: Database, id: string, now: number): Promise<PageSession | undefined> {
  const hash = hashOf(id);
  const row = await db
    .selectFrom("sessions")
    .innerJoin("keys", "keys.id", "sessions.key_id")
    .select(["keys.id", "keys.org_id", "keys.role", "sessions.used_at"])
    .where("sessions.hash", "=", hash)
    .where("keys.revoked_at", "is", null)
    .where("sessions.used_at", ">", now - lifetime.unused)
    .where("sessions.created_at", ">", now - lifetime.atMost)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return { hash, usedAt: row.used_at, caller: asCaller(row) };
}

/** Extends a session that is in use. */
export async function writeUse(writer: Writer, { hash, usedAt }: PageSession, now: number): Promise<void> {
  if (now - usedAt < useMilliseconds) return;
  await writer.write(async (tx) => {
    await tx.updateTable("sessions").set({ used_at: now }).where("hash", "=", hash).execute();
  });
}

/** The caller of a key; undefined when it is revoked. */
export async function findKey(db: Database, keyId: string): Promise<Caller | undefined> {
  const key = await keyById(db, keyId).where("revoked_at", "is", null).executeTakeFirst();
  return key && asCaller(key);
}

/** Signs a browser out. */
export async function endSession(tx: Write, hash: string): Promise<void> {
  await tx.deleteFrom("sessions").where("hash", "=", hash).execute();
}

/** Signs every browser out. */
export async function endAllSessions(db: Database): Promise<void> {
  await db.deleteFrom("sessions").execute();
}

async function removeExpired(tx: Write, keyId: string, now: number): Promise<void> {
  await tx
    .deleteFrom("sessions")
    .where("key_id", "=", keyId)
    .where(({ or, eb }) =>
      or([eb("used_at", "<=", now - lifetime.unused), eb("created_at", "<=", now - lifetime.atMost)]),
    )
    .execute();
}

/** Makes room for one more, of the codes or of the sessions. */
async function removeOldest(
  tx: Write,
  keyId: string,
  which: "like" | "not like",
  most: number,
): Promise<void> {
  const staying = tx
    .selectFrom("sessions")
    .select("hash")
    .where("key_id", "=", keyId)
    .where("hash", which, `${codePrefix}%`)
    .orderBy("used_at", "desc")
    .limit(most - 1);
  await tx
    .deleteFrom("sessions")
    .where("key_id", "=", keyId)
    .where("hash", which, `${codePrefix}%`)
    .where("hash", "not in", staying)
    .execute();
}

function hashOf(id: string): string {
  return hash("sha256", id);
}
