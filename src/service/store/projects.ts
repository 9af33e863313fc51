import type { Project } from "../../contract/pipelineList.ts";
import type { Database } from "./tables.ts";

/** Names a folder as an org's project; the same name again moves the project to the new folder. */
export async function putProject(db: Database, orgId: string, project: Project): Promise<void> {
  await db
    .insertInto("projects")
    .values({ org_id: orgId, name: project.name, root: project.root })
    .onConflict((conflict) => conflict.columns(["org_id", "name"]).doUpdateSet({ root: project.root }))
    .execute();
}

/** The org's projects by name, or only the one of the given name. */
export async function listProjects(db: Database, orgId: string, name?: string): Promise<Project[]> {
  const rows = db.selectFrom("projects").select(["name", "root"]).where("org_id", "=", orgId).orderBy("name");
  return (name === undefined ? rows : rows.where("name", "=", name)).execute();
}
