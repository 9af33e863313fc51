import { loadService } from "../loadService.ts";
import { rowsFor } from "../table.ts";
import type { Tool } from "../tool.ts";

/** `pipeline keys list`: the keys in the data folder's database, beside a running service or without one. */
export async function listKeys(
  tool: Tool,
  options: { readonly orgName: string | undefined; readonly folder: string },
): Promise<number> {
  const [{ openDatabase }, store] = await loadService(() =>
    Promise.all([import("../../service/store/openDatabase.ts"), import("../../service/store/listKeys.ts")]),
  );
  const db = await openDatabase(options.folder);
  try {
    const keys = (await store.listKeys(db, { orgName: options.orgName })).map((key) => ({
      keyId: key.keyId,
      name: key.name,
      role: key.role,
      orgId: key.orgId,
      orgName: key.orgName,
      createdAt: new Date(key.createdAt).toISOString(),
      revokedAt: key.revokedAt === undefined ? undefined : new Date(key.revokedAt).toISOString(),
      isMachine: key.isMachine,
    }));
    const rows = keys.map((key) => [
      key.keyId,
      key.role,
      key.orgName,
      key.createdAt,
      key.revokedAt === undefined ? "" : `revoked ${key.revokedAt}`,
      key.name ?? "",
    ]);
    tool.output.result("keys list", { keys }, rowsFor(tool.output.out, rows));
    if (keys.length === 0 && !tool.output.json) {
      tool.output.note(options.orgName === undefined ? "No keys yet." : "No org of that name has a key.");
    }
    return 0;
  } finally {
    await db.destroy();
  }
}
