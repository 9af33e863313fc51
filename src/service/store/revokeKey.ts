import { PipelineError } from "../../contract/errors.ts";
import { type KeyFacts, listKeys } from "./listKeys.ts";
import type { Write } from "./tables.ts";

/**
 * Makes a key open nothing any more. Revoking it again changes nothing, not even the instant.
 *
 * @param which its org where only that org's keys may be revoked; another's is then not told apart from none.
 * @returns the key as it is now.
 * @throws PipelineError `not-found`; `conflict` for this machine's own key and for an org's last owner key, since
 * nobody of the org could make another.
 */
export async function revokeKey(
  tx: Write,
  which: { readonly keyId: string; readonly orgId?: string },
  now: number,
): Promise<KeyFacts> {
  const [key] = await listKeys(tx, which);
  if (key === undefined) {
    throw new PipelineError("not-found", `There is no key \`${which.keyId.slice(0, 100)}\`.`, {
      next: "`pipeline keys list` shows the keys and their ids.",
    });
  }
  if (key.revokedAt !== undefined) return key;
  if (key.isMachine) {
    throw new PipelineError("conflict", "This machine's own faces use that key; it can't be revoked.", {
      next: "Its secret is a new one at each start: end the service, and the next command or window starts it with another.",
    });
  }
  if (key.role === "owner" && (await isLastOwner(tx, key))) {
    throw new PipelineError("conflict", "That is the last owner key of its org.", {
      next: "Make another owner key first, then revoke this one.",
    });
  }
  await tx.updateTable("keys").set({ revoked_at: now }).where("id", "=", key.keyId).execute();
  return { ...key, revokedAt: now };
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
