import { PipelineError } from "../../contract/errors.ts";
import type { Project } from "../../contract/pipelines.ts";
import type { Database, Write } from "./tables.ts";
import type { Writer } from "./writer.ts";

/**
 * Makes a folder known as an org's project. Two folders never share a name while both are there, since a run must not
 * take the pipeline of the wrong one: the second `app` becomes `app-2`, and stays that.
 *
 * @param isThere whether a project's folder still exists; the name of one that doesn't is free.
 * @returns the project under the name that it now has.
 */
export async function putProject(
  { db, writer }: { readonly db: Database; readonly writer: Writer },
  orgId: string,
  wish: Project,
  isThere: (root: string) => Promise<boolean>,
): Promise<Project> {
  for (let count = 1; ; ) {
    const name = count === 1 ? wish.name : `${wish.name}-${count}`;
    const root = await rootOf(db, orgId, name);
    if (root === wish.root) return { name, root };
    // Looked at outside of the write: a folder may lie on a disk that takes its time.
    if (root !== undefined && (await isThere(root))) {
      count++;
      continue;
    }
    const isPut = await writer.write(async (tx) => {
      // Someone else may have taken the name meanwhile.
      if ((await rootOf(tx, orgId, name)) !== root) return false;
      await tx
        .insertInto("projects")
        .values({ org_id: orgId, name, root: wish.root })
        .onConflict((conflict) => conflict.columns(["org_id", "name"]).doUpdateSet({ root: wish.root }))
        .execute();
      return true;
    });
    if (isPut) return { name, root: wish.root };
  }
}

/** The org's projects by name, or only the one of the given name. */
export function listProjects(db: Database, orgId: string, name?: string): Promise<Project[]> {
  return (
    name === undefined ? projectsOf(db, orgId).orderBy("name") : projectOfName(db, orgId, name)
  ).execute();
}

/** The org's project of a name. */
export function projectOfName(db: Database, orgId: string, name: string) {
  return projectsOf(db, orgId).where("name", "=", name);
}

function projectsOf(db: Database, orgId: string) {
  return db.selectFrom("projects").select(["name", "root"]).where("org_id", "=", orgId);
}

/**
 * Forgets an org's project; its runs stay, and so do its files.
 * @returns the project as it was.
 * @throws PipelineError `not-found`; `conflict` while one of its runs is in work, whose project would be nowhere.
 */
export async function forgetProject(tx: Write, orgId: string, name: string): Promise<Project> {
  const [project] = await listProjects(tx, orgId, name);
  if (project === undefined) {
    throw new PipelineError("not-found", `The org has no project \`${name.slice(0, 200)}\`.`, {
      next: "GET /api/projects lists the org's projects.",
    });
  }
  const inWork = await tx
    .selectFrom("runs")
    .select("id")
    .where("org_id", "=", orgId)
    .where("project", "=", name)
    .where("stopped_at", "is", null)
    .executeTakeFirst();
  if (inWork !== undefined) {
    throw new PipelineError("conflict", `The run ${inWork.id} of this project is in work.`, {
      next: "Cancel it, or wait until it has stopped.",
    });
  }
  await tx.deleteFrom("projects").where("org_id", "=", orgId).where("name", "=", name).execute();
  return project;
}

async function rootOf(db: Database, orgId: string, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("projects")
    .select("root")
    .where("org_id", "=", orgId)
    .where("name", "=", name)
    .executeTakeFirst();
  return row?.root;
}
