import type { Selectable } from "kysely";
import type { Role } from "../../contract/role.ts";
import type { Database, Tables } from "./tables.ts";

/** A key without anything that opens something. Instants are milliseconds since 1970. */
export interface KeyFacts {
  readonly keyId: string;
  readonly orgId: string;
  readonly orgName: string;
  readonly name: string | undefined;
  readonly role: Role;
  readonly createdAt: number;
  readonly revokedAt: number | undefined;
  readonly isMachine: boolean;
}

/** The keys in the order they were made, also the revoked ones: of one org, one key alone, or all there are. */
export async function listKeys(
  db: Database,
  which: { readonly orgId?: string; readonly orgName?: string | undefined; readonly keyId?: string } = {},
): Promise<KeyFacts[]> {
  let rows = db
    .selectFrom("keys")
    .innerJoin("orgs", "orgs.id", "keys.org_id")
    .selectAll("keys")
    .select("orgs.name as org_name")
    .orderBy("keys.id");
  if (which.orgId !== undefined) rows = rows.where("keys.org_id", "=", which.orgId);
  if (which.orgName !== undefined) rows = rows.where("orgs.name", "=", which.orgName);
  if (which.keyId !== undefined) rows = rows.where("keys.id", "=", which.keyId);
  return (await rows.execute()).map(asFacts);
}

/** Which of these keys are revoked. */
export async function revokedAmong(db: Database, keyIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom("keys")
    .select("id")
    .where("id", "in", keyIds)
    .where("revoked_at", "is not", null)
    .execute();
  return rows.map(({ id }) => id);
}

function asFacts(row: Selectable<Tables["keys"]> & { readonly org_name: string }): KeyFacts {
  return {
    keyId: row.id,
    orgId: row.org_id,
    orgName: row.org_name,
    name: row.name ?? undefined,
    role: row.role,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
    isMachine: row.is_machine === 1,
  };
}
