import { isServiceNamed } from "../../client/logins/logins.ts";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrg, type Role } from "../../contract/roles.ts";
import { dataFolder } from "../../machine/dataFolder.ts";
import { idMaker } from "../../service/store/ids.ts";
import * as stored from "../../service/store/keys.ts";
import { meantOrg } from "../../service/store/orgs.ts";
import type { Database } from "../../service/store/tables.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";

/** Which database a command works on: of a data folder, or the one of a `postgres://` URL, for many machines. */
export interface StoreFlags {
  readonly dataDir?: string | undefined;
  readonly database?: string | undefined;
}

/** Works on a database, whether or not a service is running on it, and closes it. @returns the exit code for a command that is done. */
export async function onDatabase(
  { env }: Tool,
  { dataDir, database }: StoreFlags,
  act: (db: Database) => Promise<void>,
): Promise<number> {
  const db = await (database === undefined ? openFolder(dataDir ?? dataFolder(env)) : openUrl(database));
  try {
    await act(db);
    return 0;
  } finally {
    await db.destroy();
  }
}

async function openFolder(folder: string): Promise<Database> {
  const { openDatabase } = await import("../../service/store/openDatabase.ts");
  return openDatabase(folder);
}

async function openUrl(url: string): Promise<Database> {
  const { openPostgres } = await import("../../team/store/openPostgres.ts");
  return (await openPostgres(url, () => {})).db;
}

interface NewKeyFlags extends StoreFlags {
  readonly role: Role;
  /** The org's name; undefined for the only one. */
  readonly org?: string;
  /** Instead of an org: a runner's key that takes work of every org. */
  readonly allOrgs?: true;
  readonly name?: string;
}

/** The name of the key's org; undefined for the only one. @throws PipelineError `usage` for two, and for every org and no runner. */
function keyOwner({ role, org, allOrgs }: NewKeyFlags): string | undefined {
  if (allOrgs === undefined && org !== everyOrg) return org;
  if (allOrgs && org === undefined && role === "runner") return everyOrg;
  throw new PipelineError("usage", "Which org is the key of?", {
    next: "Name one with --org; `pipeline orgs list` shows them. Only a key of the role runner can have --all-orgs instead.",
  });
}

/** `pipeline keys create` */
export async function createKey(tool: Tool, flags: NewKeyFlags): Promise<number> {
  const { output } = tool;
  const owner = keyOwner(flags);
  return onDatabase(tool, flags, async (db) => {
    const orgName = owner ?? (await meantOrg(db, undefined)).orgName;
    const request = { role: flags.role, name: flags.name, orgName };
    const key = await stored.createKey(db, request, { now: Date.now, makeId: idMaker(Date.now) });
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
  tool: Tool,
  { org: orgName, ...store }: StoreFlags & { readonly org?: string },
): Promise<number> {
  const { output, env } = tool;
  return onDatabase(tool, store, async (db) => {
    const keys = await stored.listKeys(db, { orgName });
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
    const isOfMachine = store.database === undefined;
    const where = isOfMachine ? ` in ${store.dataDir ?? dataFolder(env)}` : "";
    output.note(orgName === undefined ? `No keys yet${where}.` : `No org of that name has a key${where}.`);
    if (isOfMachine && (await isServiceNamed(env))) {
      output.note("These would be keys of this machine's own service, not of the one in use.");
    }
  });
}

/** `pipeline keys revoke`: a running service closes the key's connections within seconds. */
export async function revokeKey(tool: Tool, flags: StoreFlags, keyId: string): Promise<number> {
  return onDatabase(tool, flags, async (db) => {
    const revoked = await db.transaction().execute((tx) => stored.revokeKey(tx, { keyId }, Date.now()));
    const { orgId, orgName, role, revokedAt } = revoked;
    tool.output.result(
      "keys revoke",
      { keyId, role, orgId, orgName, revokedAt },
      `${keyId}, ${role} of ${orgName}, is revoked since ${revokedAt}.`,
    );
  });
}
