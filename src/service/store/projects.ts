import type { Project } from "../../contract/pipelineList.ts";
import type { Database } from "./tables.ts";

/**
 * Makes a folder known as an org's project. Two folders never share a name while both are there, since a run must not
 * take the pipeline of the wrong one: the second `app` becomes `app-2`, and stays that.
 *
 * @param isThere whether a project's folder still exists; the name of one that doesn't is free.
 * @returns the project under the name that it now has.
 */
export async function putProject(
  db: Database,
  orgId: string,
  wish: Project,
  isThere: (root: string) => Promise<boolean>,
): Promise<Project> {
  return db.transaction().execute(async (tx) => {
    for (let count = 1; ; count++) {
      const name = count === 1 ? wish.name : `${wish.name}-${count}`;
      const holder = await tx
        .selectFrom("projects")
        .select("root")
        .where("org_id", "=", orgId)
        .where("name", "=", name)
        .executeTakeFirst();
      if (holder !== undefined && holder.root !== wish.root && (await isThere(holder.root))) continue;
      await tx
        .insertInto("projects")
        .values({ org_id: orgId, name, root: wish.root })
        .onConflict((conflict) => conflict.columns(["org_id", "name"]).doUpdateSet({ root: wish.root }))
        .execute();
      return { name, root: wish.root };
    }
  });
}

/** The org's projects by name, or only the one of the given name. */
export async function listProjects(db: Database, orgId: string, name?: string): Promise<Project[]> {
  const rows = db.selectFrom("projects").select(["name", "root"]).where("org_id", "=", orgId).orderBy("name");
  return (name === undefined ? rows : rows.where("name", "=", name)).execute();
}
