import { isServiceNamed } from "../../client/logins/logins.ts";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrgName, type Role } from "../../contract/keys.ts";
import { dataFolder } from "../../machine/dataFolder.ts";
import { idMaker } from "../../service/store/ids.ts";
import * as storedKeys from "../../service/store/keys.ts";
import * as storedOrgs from "../../service/store/orgs.ts";
import type { Database } from "../../service/store/tables.ts";
import { counted } from "../../text/counted.ts";
import { rowsFor } from "../terminal/terminal.ts";
import type { Tool } from "../tool.ts";

/** The database that a command uses: that of a data folder, or one at a `postgres://` URL for many machines. */
export interface StoreFlags {
  readonly dataDir?: string | undefined;
  readonly database?: string | undefined;
}

/** Opens a database, whether or not a service is running on it. */
async function openStore({ env }: Tool, { dataDir, database }: StoreFlags): Promise<Database> {
  if (database === undefined) {
    const { openDatabase } = await import("../../service/store/openDatabase.ts");
    return openDatabase(dataDir ?? dataFolder(env));
  }
  const { openPostgres } = await import("../../team/store/openPostgres.ts");
  return (await openPostgres(database, () => {})).db;
}

interface NewKeyFlags extends StoreFlags {
  readonly role: Role;
  readonly org?: string;
  readonly allOrgs?: true;
  readonly name?: string;
}

/** The name of the key's org; undefined for the only one. @throws PipelineError `usage` for a wrong use of `--all-orgs`. */
function keyOwner({ role, org, allOrgs }: NewKeyFlags): string | undefined {
  if (allOrgs === undefined && org !== everyOrgName) return org;
  if (allOrgs && org === undefined && role === "runner") return everyOrgName;
  throw new PipelineError("usage", "Which org is the key of?", {
    next: "Name one with --org; `pipeline orgs list` shows them. Only a key of the role runner can have --all-orgs instead.",
  });
}

export async function createKey(tool: Tool, flags: NewKeyFlags): Promise<void> {
  const { output } = tool;
  const owner = keyOwner(flags);
  await using db = await openStore(tool, flags);
  const orgName = owner ?? (await storedOrgs.meantOrg(db, undefined)).orgName;
  const request = { role: flags.role, name: flags.name, orgName };
  const isKnown = orgName === everyOrgName || (await storedOrgs.listOrgs(db, orgName)).length > 0;
  const key = await storedKeys.createKey(db, request, { now: Date.now, makeId: idMaker(Date.now) });
  const { orgId, keyId, role, secret } = key;
  output.exactResult("keys create", { orgId, keyId, role, apiKey: secret }, secret);
  if (output.json) return;
  const org = orgName === everyOrgName ? "every org" : orgName;
  output.note(
    `${keyId}, ${role} of ${org}${isKnown ? "" : ", a new org"}. This is the only time that the key is shown.`,
  );
}

export async function listKeys(
  tool: Tool,
  { org: orgName, ...store }: StoreFlags & { readonly org?: string },
): Promise<void> {
  const { output, env } = tool;
  await using db = await openStore(tool, store);
  const keys = await storedKeys.listKeys(db, { orgName });
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
}

/** `pipeline keys revoke`: a running service closes the key's connections within seconds. */
export async function revokeKey(tool: Tool, flags: StoreFlags, keyId: string): Promise<void> {
  await using db = await openStore(tool, flags);
  const revoked = await db.transaction().execute((tx) => storedKeys.revokeKey(tx, { keyId }, Date.now()));
  const { orgId, orgName, role, revokedAt } = revoked;
  tool.output.result(
    "keys revoke",
    { keyId, role, orgId, orgName, revokedAt },
    `${keyId}, ${role} of ${orgName}, is revoked since ${revokedAt}.`,
  );
}

/** `pipeline orgs list`: lists the orgs of a service's database with their limits, whether or not it is running. */
export async function listOrgs(tool: Tool, flags: StoreFlags): Promise<void> {
  const { output } = tool;
  await using db = await openStore(tool, flags);
  const orgs = await storedOrgs.listOrgs(db);
  const rows = orgs.map((org) => [org.orgId, org.orgName, `tier ${org.tier}`, limitsText(org)]);
  output.result("orgs list", { orgs }, rowsFor(output.out, rows));
  if (orgs.length === 0 && !output.json) output.note("No orgs yet.");
}

interface NewOrgFlags extends StoreFlags, storedOrgs.NewLimits {
  readonly org?: string;
}

/**
 * `pipeline orgs set`: sets an org's tier and limits in a service's database. A running service applies them at once, and checks
 * its waiting start requests within a second.
 */
export async function setOrg(
  tool: Tool,
  { org: orgName, dataDir, database, ...limits }: NewOrgFlags,
): Promise<void> {
  if (Object.keys(limits).length === 0) {
    throw new PipelineError("usage", "Nothing is set.", {
      next: "Say what: --parallel-runs, --runs-per-day or --tier.",
    });
  }
  await using db = await openStore(tool, { dataDir, database });
  const org = await db.transaction().execute(async (tx) => {
    const changed = await storedOrgs.setOrgLimits(tx, orgName, limits);
    if (database !== undefined) {
      const { notify, payloadOf } = await import("../../team/store/postgresBus.ts");
      await notify(tx, [payloadOf(changed.orgId, { kind: "org" })]);
    }
    return changed;
  });
  tool.output.result("orgs set", org, `${org.orgName}, tier ${org.tier}: ${limitsText(org)}.`);
}

function limitsText({ limits: { parallelRuns, runsPerDay } }: storedOrgs.OrgLimits): string {
  return `${counted(parallelRuns, "run")} at a time, ${counted(runsPerDay, "run")} a day`;
}
