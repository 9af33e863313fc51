import { isServiceNamed } from "../../client/logins/logins.ts";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrg, type Role } from "../../contract/roles.ts";
import type { Database } from "../../service/store/tables.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";

/** The database that a command works on: of a data folder, or the `postgres://` URL of one for many machines. */
export type ServiceDatabase = { readonly folder: string } | { readonly database: string };

/** Works on a database, whether or not a service is running on it, and closes it. @returns the exit code for a command that is done. */
export async function onDatabase(
  store: ServiceDatabase,
  act: (db: Database) => Promise<void>,
): Promise<number> {
  const db = await openServiceDatabase(store);
  try {
    await act(db);
    return 0;
  } finally {
    await db.destroy();
  }
}

async function openServiceDatabase(store: ServiceDatabase): Promise<Database> {
  if ("folder" in store) {
    const { openDatabase } = await loadService(() => import("../../service/store/openDatabase.ts"));
    return openDatabase(store.folder);
  }
  const { openPostgres } = await loadService(() => import("../../team/store/openPostgres.ts"));
  return (await openPostgres(store.database, () => {})).db;
}

export interface NewKeyOptions {
  readonly role: Role;
  /** The org's name; undefined for the only one. */
  readonly org?: string;
  /** Instead of an org: a runner's key that takes work of every org. */
  readonly allOrgs?: true;
  readonly name?: string;
}

/** The name of the key's org; undefined for the only one. @throws PipelineError `usage` for two, and for every org and no runner. */
function keyOwner({ role, org, allOrgs }: NewKeyOptions): string | undefined {
  if (allOrgs === undefined && org !== everyOrg) return org;
  if (allOrgs && org === undefined && role === "runner") return everyOrg;
  throw new PipelineError("usage", "Which org is the key of?", {
    next: "Name one with --org; `pipeline orgs list` shows them. Only a key of the role runner can have --all-orgs instead.",
  });
}

/** `pipeline keys create` */
export async function createKey(
  { output }: Tool,
  options: NewKeyOptions,
  store: ServiceDatabase,
): Promise<number> {
  const owner = keyOwner(options);
  const [keys, { meantOrg }, { idMaker }] = await loadService(() =>
    Promise.all([
      import("../../service/store/keys.ts"),
      import("../../service/store/orgs.ts"),
      import("../../service/store/ids.ts"),
    ]),
  );
  return onDatabase(store, async (db) => {
    const orgName = owner ?? (await meantOrg(db, undefined)).orgName;
    const request = { role: options.role, name: options.name, orgName };
    const key = await keys.createKey(db, request, { now: Date.now, makeId: idMaker(Date.now) });
    const { orgId, keyId, role, secret } = key;
    output.exactResult("keys create", { orgId, keyId, role, apiKey: secret }, secret);
    if (output.json) return;
    output.note(
      `${keyId}, ${role} of ${orgName === everyOrg ? "every org" : orgName}. This is the only time that the key is shown.`,
    );
  });
}

/** `pipeline keys list` */
export async function listKeys(
  { output, env }: Tool,
  orgName: string | undefined,
  store: ServiceDatabase,
): Promise<number> {
  const stored = await loadService(() => import("../../service/store/keys.ts"));
  return onDatabase(store, async (db) => {
    const keys = (await stored.listKeys(db, { orgName })).map((key) => ({
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
    output.result("keys list", { keys }, rowsFor(output.out, rows));
    if (keys.length > 0 || output.json) return;
    const where = "folder" in store ? ` in ${store.folder}` : "";
    output.note(orgName === undefined ? `No keys yet${where}.` : `No org of that name has a key${where}.`);
    if ("folder" in store && (await isServiceNamed(env))) {
      output.note("These would be keys of this machine's own service, not of the one in use.");
    }
  });
}

/** `pipeline keys revoke`: a running service closes the key's connections within seconds. */
export async function revokeKey({ output }: Tool, keyId: string, store: ServiceDatabase): Promise<number> {
  const stored = await loadService(() => import("../../service/store/keys.ts"));
  return onDatabase(store, async (db) => {
    const now = Date.now();
    const revoked = await db.transaction().execute((tx) => stored.revokeKey(tx, { keyId }, now));
    const { orgId, orgName, role } = revoked;
    const revokedAt = new Date(revoked.revokedAt ?? now).toISOString();
    output.result(
      "keys revoke",
      { keyId, role, orgId, orgName, revokedAt },
      `${keyId}, ${role} of ${orgName}, is revoked since ${revokedAt}.`,
    );
  });
}
