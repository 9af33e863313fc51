import { PipelineError } from "../../contract/errors.ts";
import type { Project } from "../../contract/pipelines.ts";
import type { Database, Write } from "./tables.ts";
import type { Writer } from "./writer.ts";

/**
 * Adds a folder as an org's project. Two existing folders never share a name, so that a run takes the pipeline of the right
 * one: the second `app` becomes `app-2`, and keeps that name.
 *
 * @param isThere whether a project's folder still exists; the name of a missing one is free.
 * @returns the project with the name that it now has.
 */
export async function putProject(
  { db, writer }: { readonly db: Database; readonly writer: Writer },
  orgId: string,
  project: Project,
  isThere: (root: string) => Promise<boolean>,
): Promise<Project> {
  for (let count = 1; ; ) {
    const name = count === 1 ? project.name : `${project.name}-${count}`;
    const root = await rootOf(db, orgId, name);
    if (root === project.root) return { name, root };
    // Outside of the transaction: the folder may be on a slow disk.
    if (root !== undefined && (await isThere(root))) {
      count++;
      continue;
    }
    const isPut = await writer.write(async (tx) => {
      // Another request may have taken the name.
      if ((await rootOf(tx, orgId, name)) !== root) return false;
      await tx
        .insertInto("projects")
        .values({ org_id: orgId, name, root: project.root })
        .onConflict((conflict) => conflict.columns(["org_id", "name"]).doUpdateSet({ root: project.root }))
        .execute();
      return true;
    });
    if (isPut) return { name, root: project.root };
  }
}

/** The org's projects by name, or only the one of the given name. */
export function listProjects(db: Database, orgId: string, name?: string): Promise<Project[]> {
  return projectsOf(db, orgId, name).execute();
}

export function projectsOf(db: Database, orgId: string, name: string | undefined) {
  const rows = db.selectFrom("projects").select(["name", "root"]).where("org_id", "=", orgId).orderBy("name");
  return name === undefined ? rows : rows.where("name", "=", name);
}

/**
 * Forgets an org's project; its runs stay, and so do its files.
 * @returns the project as it was.
 * @throws PipelineError `not-found`; `conflict` while one of its runs is active.
 */
export async function forgetProject(tx: Write, orgId: string, name: string): Promise<Project> {
  const [project] = await listProjects(tx, orgId, name);
  if (project === undefined) {
    throw new PipelineError("not-found", `The org has no project \`${name.slice(0, 200)}\`.`, {
      next: "GET /api/projects lists the org's projects.",
    });
  }
  const active = await tx
    .selectFrom("runs")
    .select("id")
    .where("org_id", "=", orgId)
    .where("project", "=", name)
    .where("stopped_at", "is", null)
    .executeTakeFirst();
  if (active !== undefined) {
    throw new PipelineError("conflict", `The run ${active.id} of this project is active.`, {
      next: "Cancel it, or wait until it has stopped.",
    });
  }
  await tx.deleteFrom("projects").where("org_id", "=", orgId).where("name", "=", name).execute();
  return project;
}

async function rootOf(db: Database, orgId: string, name: string): Promise<string | undefined> {
  const [project] = await listProjects(db, orgId, name);
  return project?.root;
}
