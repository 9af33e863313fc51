import { isDeepStrictEqual } from "node:util";
import { PipelineError } from "../../contract/errors.ts";
import type { Project } from "../../contract/pipelines.ts";
import type { Database, Write } from "./tables.ts";
import type { Writer } from "./writer.ts";

/**
 * Adds a folder as an org's project. A folder that a project has already, perhaps reached by a link, is that project: its name
 * and root stay. Two existing folders never share a name, so that a run takes the pipeline of the right one: the second `app`
 * becomes `app-2`, and keeps that name.
 *
 * @param placeOf a folder's path without links; undefined if it is gone, and then a project's name is free.
 * @returns the project with the name and root that it now has.
 */
export async function putProject(
  { db, writer }: { readonly db: Database; readonly writer: Writer },
  orgId: string,
  { name, root }: Project,
  placeOf: (root: string) => Promise<string | undefined>,
): Promise<Project> {
  for (;;) {
    const known = await listProjects(db, orgId);
    const named = (count: number) => known.find((other) => other.name === numbered(name, count));
    for (let count = 1, own = named(count); own !== undefined; own = named(++count)) {
      if (own.root === root) return own;
    }
    // Outside of the transaction: a folder may be on a slow disk.
    const place = (await placeOf(root)) ?? root;
    const places = await Promise.all(known.map((other) => placeOf(other.root)));
    // The same root under another name is no link: `--project` gives it a further name.
    const same = known.filter((other, index) => other.root !== root && places[index] === place);
    const [first] = same;
    if (first !== undefined) return same.find((other) => other.name === name) ?? first;
    const taken = new Set(known.filter((_, index) => places[index] !== undefined).map((other) => other.name));
    let count = 1;
    while (taken.has(numbered(name, count))) count++;
    const free = numbered(name, count);
    const isPut = await writer.write(async (tx) => {
      // Another request may have changed them.
      if (!isDeepStrictEqual(await listProjects(tx, orgId), known)) return false;
      await tx
        .insertInto("projects")
        .values({ org_id: orgId, name: free, root })
        .onConflict((conflict) => conflict.columns(["org_id", "name"]).doUpdateSet({ root }))
        .execute();
      return true;
    });
    if (isPut) return { name: free, root };
  }
}

function numbered(name: string, count: number): string {
  return count === 1 ? name : `${name}-${count}`;
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
