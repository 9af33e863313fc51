import { type RawBuilder, type Selectable, sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { Key, Role } from "../../contract/keys.ts";
import { freeTier } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { hashOf, holdsSecret, keyIdOf, makeSecret, matches } from "../../machine/apiSecret.ts";
import type { MakeId } from "./ids.ts";
import type { Database, Tables, Write } from "./tables.ts";

/** The key that a request was authenticated by. */
export interface Caller {
  readonly keyId: string;
  readonly orgId: string;
  readonly role: Role;
}

interface NewKey extends Caller {
  /** Shown once; only its hash is stored. */
  readonly secret: string;
  readonly createdAt: string;
}

interface KeyDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
}

/** Creates a key, and its org (of the free tier) when there is none of that name. */
export async function createKey(
  db: Database,
  request: { readonly orgName: string; readonly role: Role; readonly name?: string | undefined },
  deps: KeyDeps,
): Promise<NewKey> {
  return db.transaction().execute(async (tx) => {
    const orgId = await findOrCreateOrg(tx, request.orgName, deps);
    return createKeyOf(tx, orgId, request, deps);
  });
}

/**
 * Creates a key of an existing org.
 * @throws PipelineError `invalid-request` for a name that holds an API key.
 */
export async function createKeyOf(
  tx: Write,
  orgId: string,
  request: { readonly role: Role; readonly name?: string | undefined; readonly isMachine?: boolean },
  deps: KeyDeps,
): Promise<NewKey> {
  const { role, name, isMachine = false } = request;
  if (name !== undefined && holdsSecret(name)) {
    throw new PipelineError("invalid-request", "`name` is an API key itself.", {
      next: "Name the key after who uses it, and revoke the one that you sent if others may have seen it.",
    });
  }
  const id = deps.makeId("key");
  const secret = makeSecret(id);
  const createdAt = deps.now();
  await tx
    .insertInto("keys")
    .values({
      id,
      org_id: orgId,
      role,
      name: name ?? null,
      hash: hashOf(secret),
      is_machine: isMachine ? 1 : 0,
      created_at: createdAt,
      revoked_at: null,
    })
    .execute();
  return { keyId: id, orgId, role, secret, createdAt: asTime(createdAt) };
}

const machineKeyName = "This machine (editor and terminal)";

/**
 * Gives the key of this machine's own faces a new secret. Its id stays, so that runs from before a restart are still the
 * caller's own. In a database of an earlier version, the key also gets its current name.
 */
export async function renewMachineKey(tx: Write, orgName: string, deps: KeyDeps): Promise<NewKey> {
  const old = await tx
    .selectFrom("keys")
    .select(["id", "org_id", "role", "created_at"])
    .where("is_machine", "=", 1)
    .executeTakeFirst();
  if (old === undefined) {
    const orgId = await findOrCreateOrg(tx, orgName, deps);
    return createKeyOf(tx, orgId, { role: "owner", name: machineKeyName, isMachine: true }, deps);
  }
  const secret = makeSecret(old.id);
  await tx
    .updateTable("keys")
    .set({ hash: hashOf(secret), name: machineKeyName })
    .where("id", "=", old.id)
    .execute();
  return { keyId: old.id, orgId: old.org_id, role: old.role, secret, createdAt: asTime(old.created_at) };
}

/** @returns undefined for an unknown secret and for a revoked key, in the same time. */
export async function findCaller(db: Database, secret: string): Promise<Caller | undefined> {
  const id = keyIdOf(secret);
  if (id === undefined) return undefined;
  const key = await keyById(db, id).executeTakeFirst();
  const good = matches(secret, key?.hash);
  return good && key?.revoked_at === null ? asCaller(key) : undefined;
}

export function asCaller(key: Pick<Selectable<Tables["keys"]>, "id" | "org_id" | "role">): Caller {
  return { keyId: key.id, orgId: key.org_id, role: key.role };
}

/** The name of the key with an id, within another query; null for a key without one. */
export function keyName(id: RawBuilder<unknown>): RawBuilder<string | null> {
  return sql<string | null>`(select keys.name from keys where keys.id = ${id})`;
}

/** The key with an id, even a revoked one. */
export function keyById(db: Database, id: string) {
  return db.selectFrom("keys").select(["id", "org_id", "role", "hash", "revoked_at"]).where("id", "=", id);
}

async function findOrCreateOrg(tx: Write, name: string, deps: KeyDeps): Promise<string> {
  // If two processes create it at once, this waits for the other one.
  await tx
    .insertInto("orgs")
    .values({
      id: deps.makeId("org"),
      name,
      tier: freeTier.tier,
      parallel_runs: freeTier.parallelRuns,
      runs_per_day: freeTier.runsPerDay,
      created_at: deps.now(),
    })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const found = tx.selectFrom("orgs").select("id").where("name", "=", name);
  return (await found.executeTakeFirstOrThrow()).id;
}

/** A key without its secret. */
export type KeyFacts = Omit<Key, "isActor"> & Pick<Org, "orgId" | "orgName">;

/** Keys in the order of their creation, also revoked ones: of an org, a single one, or all. */
export async function listKeys(
  db: Database,
  which: { readonly orgId?: string; readonly orgName?: string | undefined; readonly keyId?: string } = {},
): Promise<KeyFacts[]> {
  let rows = db
    .selectFrom("keys")
    .innerJoin("orgs", "orgs.id", "keys.org_id")
    .select(["keys.id", "org_id", "role", "keys.name", "is_machine", "keys.created_at", "revoked_at"])
    .select("orgs.name as org_name")
    .orderBy("keys.id");
  if (which.orgId !== undefined) rows = rows.where("keys.org_id", "=", which.orgId);
  if (which.orgName !== undefined) rows = rows.where("orgs.name", "=", which.orgName);
  if (which.keyId !== undefined) rows = rows.where("keys.id", "=", which.keyId);
  return (await rows.execute()).map(asFacts);
}

export async function revokedAmong(db: Database, keyIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom("keys")
    .select("id")
    .where("id", "in", keyIds)
    .where("revoked_at", "is not", null)
    .execute();
  return rows.map(({ id }) => id);
}

function asFacts(row: Omit<Selectable<Tables["keys"]>, "hash"> & { readonly org_name: string }): KeyFacts {
  return {
    keyId: row.id,
    orgId: row.org_id,
    orgName: row.org_name,
    name: row.name ?? undefined,
    role: row.role,
    createdAt: asTime(row.created_at),
    revokedAt: row.revoked_at === null ? undefined : asTime(row.revoked_at),
    isMachine: row.is_machine === 1,
  };
}

/**
 * Revokes a key. Revoking it again changes nothing, not even the instant.
 *
 * @param which `orgId` where only that org's keys may be revoked: another's is like a missing one.
 * @returns the key as it is now.
 * @throws PipelineError `not-found`; `conflict` for this machine's own key and for an org's last owner key, since
 * nobody of the org could make another.
 */
export async function revokeKey(
  tx: Write,
  which: { readonly keyId: string; readonly orgId?: string },
  now: number,
): Promise<KeyFacts & { readonly revokedAt: string }> {
  await lockOrg(tx, which.keyId);
  const [key] = await listKeys(tx, which);
  if (key === undefined) {
    throw new PipelineError("not-found", `There is no key \`${which.keyId.slice(0, 100)}\`.`, {
      next: "`pipeline keys list` shows the keys and their ids.",
    });
  }
  const { revokedAt } = key;
  if (revokedAt !== undefined) return { ...key, revokedAt };
  if (key.isMachine) {
    throw new PipelineError(
      "conflict",
      "This machine's editor and terminal use that key; it can't be revoked.",
      {
        next: "Its secret is a new one at each start: end the service, and the next command or window starts it with another.",
      },
    );
  }
  if (key.role === "owner" && (await isLastOwner(tx, key))) {
    throw new PipelineError("conflict", "That is the last owner key of its org.", {
      next: "Make another owner key first, then revoke this one.",
    });
  }
  await tx.updateTable("keys").set({ revoked_at: now }).where("id", "=", key.keyId).execute();
  return { ...key, revokedAt: asTime(now) };
}

/**
 * Locks the org of a key until the transaction's end, so that no two transactions revoke its last two owner keys. The update
 * changes nothing: SQLite has no `for update`.
 */
async function lockOrg(tx: Write, keyId: string): Promise<void> {
  await tx
    .updateTable("orgs")
    .set(({ ref }) => ({ tier: ref("tier") }))
    .where("id", "=", ({ selectFrom }) => selectFrom("keys").select("org_id").where("id", "=", keyId))
    .execute();
}

async function isLastOwner(tx: Write, key: KeyFacts): Promise<boolean> {
  const other = await tx
    .selectFrom("keys")
    .select("id")
    .where("org_id", "=", key.orgId)
    .where("role", "=", "owner")
    .where("revoked_at", "is", null)
    .where("id", "!=", key.keyId)
    .executeTakeFirst();
  return other === undefined;
}

/** An instant (milliseconds since 1970) as the contract has it. */
export function asTime(instant: number): string {
  return new Date(instant).toISOString();
}
