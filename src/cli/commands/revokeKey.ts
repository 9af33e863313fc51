import { loadService } from "../loadService.ts";
import type { Tool } from "../tool.ts";

/**
 * `pipeline keys revoke`: makes a key open nothing any more, in the data folder's database. A service that runs there ends
 * what is open for the key within seconds.
 */
export async function revokeKey(
  tool: Tool,
  options: { readonly keyId: string; readonly folder: string },
): Promise<number> {
  const { keyId, folder } = options;
  const [{ openDatabase }, store] = await loadService(() =>
    Promise.all([import("../../service/store/openDatabase.ts"), import("../../service/store/revokeKey.ts")]),
  );
  const db = await openDatabase(folder);
  try {
    const now = Date.now();
    const {
      orgId,
      orgName,
      role,
      revokedAt = now,
    } = await db.transaction().execute((tx) => store.revokeKey(tx, { keyId }, now));
    const instant = new Date(revokedAt).toISOString();
    tool.output.result(
      "keys revoke",
      { keyId, role, orgId, orgName, revokedAt: instant },
      `${keyId}, ${role} of ${orgName}, is revoked since ${instant}.`,
    );
    return 0;
  } finally {
    await db.destroy();
  }
}
