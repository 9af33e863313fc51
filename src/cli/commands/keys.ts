import type { Role } from "../../contract/roles.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";

/** `pipeline keys create`: creates a key in the data folder's database, whether or not a service is running. */
export async function createKey(
  tool: Tool,
  options: {
    readonly role: Role;
    readonly orgName: string;
    readonly name: string | undefined;
    readonly folder: string;
  },
): Promise<number> {
  const [{ openDatabase }, keys, { idMaker }] = await loadService(() =>
    Promise.all([
      import("../../service/store/openDatabase.ts"),
      import("../../service/store/keys.ts"),
      import("../../service/store/ids.ts"),
    ]),
  );
  const db = await openDatabase(options.folder);
  try {
    const key = await keys.createKey(db, options, { now: Date.now, makeId: idMaker(Date.now) });
    const { orgId, keyId, role, secret } = key;
    tool.output.exactResult("keys create", { orgId, keyId, role, apiKey: secret }, secret);
    if (!tool.output.json) {
      tool.output.note(
        `${keyId}, ${role} of ${options.orgName}. This is the only time that the key is shown.`,
      );
    }
    return 0;
  } finally {
    await db.destroy();
  }
}

/** `pipeline keys list`: lists the keys in the data folder's database, whether or not a service is running. */
export async function listKeys(
  tool: Tool,
  options: { readonly orgName: string | undefined; readonly folder: string },
): Promise<number> {
  const [{ openDatabase }, store] = await loadService(() =>
    Promise.all([import("../../service/store/openDatabase.ts"), import("../../service/store/keys.ts")]),
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

/**
 * `pipeline keys revoke`: revokes a key in the data folder's database. A running service closes the key's connections within
 * seconds.
 */
export async function revokeKey(
  tool: Tool,
  options: { readonly keyId: string; readonly folder: string },
): Promise<number> {
  const { keyId, folder } = options;
  const [{ openDatabase }, store] = await loadService(() =>
    Promise.all([import("../../service/store/openDatabase.ts"), import("../../service/store/keys.ts")]),
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
