import { PipelineError } from "../../contract/errors.ts";
import { freeTier } from "../../contract/limits.ts";
import type { Role } from "../../contract/role.ts";
import { hashOf, holdsSecret, keyIdOf, makeSecret, matches } from "../apiSecret.ts";
import type { MakeId } from "./ids.ts";
import type { Database, Write } from "./tables.ts";

/** Who asks: the key that came with a request, once it was found good. */
export interface Caller {
  readonly keyId: string;
  readonly orgId: string;
  readonly role: Role;
}

export interface NewKey extends Caller {
  /** Shown once; only its hash is kept. */
  readonly secret: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

interface KeyDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
}

/** Makes a key of an org, and the org (of the free tier) when there is none of that name. */
export async function createKey(
  db: Database,
  wish: { readonly orgName: string; readonly role: Role; readonly name?: string | undefined },
  deps: KeyDeps,
): Promise<NewKey> {
  return db.transaction().execute(async (tx) => {
    const orgId = await findOrCreateOrg(tx, wish.orgName, deps);
    return createKeyOf(tx, orgId, wish, deps);
  });
}

/**
 * Makes one more key of an org that is there.
 * @throws PipelineError `invalid-request` for a name that is an API key: no name is kept that opens something.
 */
export async function createKeyOf(
  tx: Write,
  orgId: string,
  wish: { readonly role: Role; readonly name?: string | undefined; readonly isMachine?: boolean },
  deps: KeyDeps,
): Promise<NewKey> {
  const { role, name, isMachine = false } = wish;
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
  return { keyId: id, orgId, role, secret, createdAt };
}

/**
 * The key that this machine's own faces use, with a new secret: its id stays, so that runs started before a restart
 * are still the caller's own.
 */
export async function renewMachineKey(tx: Write, orgName: string, deps: KeyDeps): Promise<NewKey> {
  const old = await tx
    .selectFrom("keys")
    .select(["id", "org_id", "role", "created_at"])
    .where("is_machine", "=", 1)
    .executeTakeFirst();
  if (old === undefined) {
    const orgId = await findOrCreateOrg(tx, orgName, deps);
    return createKeyOf(tx, orgId, { role: "owner", name: "This machine's faces", isMachine: true }, deps);
  }
  const secret = makeSecret(old.id);
  await tx
    .updateTable("keys")
    .set({ hash: hashOf(secret) })
    .where("id", "=", old.id)
    .execute();
  return { keyId: old.id, orgId: old.org_id, role: old.role, secret, createdAt: old.created_at };
}

/** @returns undefined for a secret that belongs to no key, or to a revoked one, after the same work for either. */
export async function findCaller(db: Database, secret: string): Promise<Caller | undefined> {
  const id = keyIdOf(secret);
  if (id === undefined) return undefined;
  const key = await keyById(db, id).executeTakeFirst();
  const good = matches(secret, key?.hash);
  if (!good || key === undefined || key.revoked_at !== null) return undefined;
  return { keyId: key.id, orgId: key.org_id, role: key.role };
}

/** The key of an id, also one that was revoked. */
export function keyById(db: Database, id: string) {
  return db.selectFrom("keys").select(["id", "org_id", "role", "hash", "revoked_at"]).where("id", "=", id);
}

async function findOrCreateOrg(tx: Write, name: string, deps: KeyDeps): Promise<string> {
  const found = await tx.selectFrom("orgs").select("id").where("name", "=", name).executeTakeFirst();
  if (found !== undefined) return found.id;
  const id = deps.makeId("org");
  await tx
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
