import * as z from "zod/mini";
import { databaseFile, lookInto } from "./openDatabase.ts";

const keySchema = z.object({
  keyId: z.string(),
  orgName: z.string(),
  role: z.string(),
  isRevoked: z.pipe(
    z.int(),
    z.transform((is) => is === 1),
  ),
});

/** The keys in a data folder's database, looked at and no more. */
export function peekKeys(folder: string): z.infer<typeof keySchema>[] {
  const select = `select keys.id as keyId, orgs.name as orgName, keys.role as role, keys.revoked_at is not null as isRevoked
    from keys join orgs on orgs.id = keys.org_id order by keys.id desc limit 200`;
  return z.parse(
    z.array(keySchema),
    lookInto(databaseFile(folder), (sqlite) => sqlite.prepare(select).all()),
  );
}
