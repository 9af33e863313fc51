import { isServiceNamed } from "../../client/logins/logins.ts";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrg, type Role } from "../../contract/roles.ts";
import type { Database } from "../../service/store/tables.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";

/** The database that a command works on: of a data folder, or the `postgres://` URL of one for many machines. */
export type ServiceDatabase = { readonly folder: string } | { readonly database: string };

/** Whether or not a service is running on it. */
export async function openServiceDatabase(store: ServiceDatabase): Promise<Database> {
  if ("folder" in store) {
    const { openDatabase } = await loadService(() => import("../../service/store/openDatabase.ts"));
    return openDatabase(store.folder);
  }
  const { openPostgres } = await loadService(() => import("../../team/store/openPostgres.ts"));
  return (await openPostgres(store.database, () => {})).db;
}

/** The name of the key's org; undefined for the only one. @throws PipelineError `usage` for two, and for every org and no runner. */
function keyOwner({
  role,
  orgName,
  allOrgs,
}: {
  readonly role: Role;
  readonly orgName: string | undefined;
  readonly allOrgs: true | undefined;
}): string | undefined {
  if (allOrgs === undefined && orgName !== everyOrg) return orgName;
  if (allOrgs && orgName === undefined && role === "runner") return everyOrg;
  throw new PipelineError("usage", "Which org is the key of?", {
    next: "Name one with --org; `pipeline orgs list` shows them. Only a key of the role runner can have --all-orgs instead.",
  });
}

/** `pipeline keys create`: creates a key in the data folder's database, whether or not a service is running. */
export async function createKey(
  tool: Tool,
  options: {
    readonly role: Role;
    readonly orgName: string | undefined;
    /** Instead of an org: a runner's key that takes work of every org. */
    readonly allOrgs: true | undefined;
    readonly name: string | undefined;
  } & ServiceDatabase,
): Promise<number> {
  const owner = keyOwner(options);
  const [keys, { meantOrg }, { idMaker }] = await loadService(() =>
    Promise.all([
      import("../../service/store/keys.ts"),
      import("../../service/store/orgs.ts"),
      import("../../service/store/ids.ts"),
    ]),
  );
  const db = await openServiceDatabase(options);
  try {
    const of = owner ?? (await meantOrg(db, undefined)).orgName;
    const key = await keys.createKey(
      db,
      { ...options, orgName: of },
      { now: Date.now, makeId: idMaker(Date.now) },
    );
    const { orgId, keyId, role, secret } = key;
    tool.output.exactResult("keys create", { orgId, keyId, role, apiKey: secret }, secret);
    if (!tool.output.json) {
      tool.output.note(
        `${keyId}, ${role} of ${of === everyOrg ? "every org" : of}. This is the only time that the key is shown.`,
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
  options: { readonly orgName: string | undefined } & ServiceDatabase,
): Promise<number> {
  const store = await loadService(() => import("../../service/store/keys.ts"));
  const db = await openServiceDatabase(options);
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
      const where = "folder" in options ? ` in ${options.folder}` : "";
      tool.output.note(
        options.orgName === undefined ? `No keys yet${where}.` : `No org of that name has a key${where}.`,
      );
      if ("folder" in options && (await isServiceNamed(tool.env))) {
        tool.output.note("These would be keys of this machine's own service, not of the one in use.");
      }
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
  options: { readonly keyId: string } & ServiceDatabase,
): Promise<number> {
  const { keyId } = options;
  const store = await loadService(() => import("../../service/store/keys.ts"));
  const db = await openServiceDatabase(options);
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
