import type { Role } from "../../contract/role.ts";
import { loadService } from "../loadService.ts";
import type { Tool } from "../tool.ts";

/** `pipeline keys create`: makes a key in the data folder's database, beside a running service or without one. */
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
