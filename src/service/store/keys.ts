import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { freeTier } from "../../contract/limits.ts";
import type { Role } from "../../contract/role.ts";
import type { MakeId } from "./ids.ts";
import type { Database } from "./tables.ts";

/** Who asks: the key that came with a request, once it was found good. */
export interface Caller {
  readonly keyId: string;
  readonly orgId: string;
  readonly role: Role;
}

export interface NewKey extends Caller {
  /** Shown once; only its hash is kept. The prefix lets secret scanners find a leaked one. */
  readonly secret: string;
}

interface KeyDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
}

const secretPattern = /^plr_([0-9a-z]{26})_[\w-]{43}$/;

/** Makes a key of an org, and the org (of the free tier) when there is none of that name. */
export async function createKey(
  db: Database,
  wish: { readonly orgName: string; readonly role: Role },
  deps: KeyDeps,
): Promise<NewKey> {
  return db.transaction().execute(async (tx) => {
    const orgId = await findOrCreateOrg(tx, wish.orgName, deps);
    return insertKey(tx, { orgId, role: wish.role, isMachine: false }, deps);
  });
}

/**
 * The key that this machine's own faces use, with a new secret: its id stays, so that runs started before a restart
 * are still the caller's own.
 */
export async function renewMachineKey(db: Database, orgName: string, deps: KeyDeps): Promise<NewKey> {
  return db.transaction().execute(async (tx) => {
    const old = await tx
      .selectFrom("keys")
      .select(["id", "org_id", "role"])
      .where("is_machine", "=", 1)
      .executeTakeFirst();
    if (old === undefined) {
      const orgId = await findOrCreateOrg(tx, orgName, deps);
      return insertKey(tx, { orgId, role: "owner", isMachine: true }, deps);
    }
    const secret = makeSecret(old.id);
    await tx
      .updateTable("keys")
      .set({ hash: hashOf(secret) })
      .where("id", "=", old.id)
      .execute();
    return { keyId: old.id, orgId: old.org_id, role: old.role, secret };
  });
}

/** @returns undefined for a secret that belongs to no key, or to a revoked one. Compares in constant time. */
export async function findCaller(db: Database, secret: string): Promise<Caller | undefined> {
  const id = secretPattern.exec(secret)?.[1];
  if (id === undefined) return undefined;
  const key = await db
    .selectFrom("keys")
    .select(["id", "org_id", "role", "hash"])
    .where("id", "=", `key_${id}`)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  if (key === undefined) return undefined;
  const same = timingSafeEqual(Buffer.from(key.hash, "hex"), Buffer.from(hashOf(secret), "hex"));
  return same ? { keyId: key.id, orgId: key.org_id, role: key.role } : undefined;
}

async function findOrCreateOrg(db: Database, name: string, deps: KeyDeps): Promise<string> {
  const found = await db.selectFrom("orgs").select("id").where("name", "=", name).executeTakeFirst();
  if (found !== undefined) return found.id;
  const id = deps.makeId("org");
  await db
    .insertInto("orgs")
    .values({
      id,
      name,
      tier: freeTier.tier,
      parallel_runs: freeTier.parallelRuns,
      runs_per_day: freeTier.runsPerDay,
      created_at: deps.now(),
    })
    .execute();
  return id;
}

async function insertKey(
  db: Database,
  key: { readonly orgId: string; readonly role: Role; readonly isMachine: boolean },
  deps: KeyDeps,
): Promise<NewKey> {
  const id = deps.makeId("key");
  const secret = makeSecret(id);
  await db
    .insertInto("keys")
    .values({
      id,
      org_id: key.orgId,
      role: key.role,
      hash: hashOf(secret),
      is_machine: key.isMachine ? 1 : 0,
      created_at: deps.now(),
      revoked_at: null,
    })
    .execute();
  return { keyId: id, orgId: key.orgId, role: key.role, secret };
}

/** The id is part of the secret, so that a key is found by it and only one hash is ever compared. */
function makeSecret(keyId: string): string {
  return `plr_${keyId.slice("key_".length)}_${randomBytes(32).toString("base64url")}`;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
