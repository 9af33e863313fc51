import { type Selectable, sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedPipelineEntry } from "../../contract/pipelines.ts";
import type { RunDefinition, RunWork, StartRequest } from "../../contract/run.ts";
import { listedFacts } from "../../project/pipelineFiles.ts";
import { HttpProblem } from "../../service/http/reply.ts";
import {
  type FoundPipeline,
  fixedInputs,
  noSuchPipeline,
  type Pipelines,
  requireStep,
  runnable,
} from "../../service/runs/projectPipelines.ts";
import type { Work } from "../../service/runs/runs.ts";
import type { Database, Tables, Write } from "../../service/store/tables.ts";
import type { DefinitionParser } from "../definitionParser.ts";
import { nameSnapshot } from "./storedSnapshots.ts";

/**
 * The pipelines of an org as its runs had them (`storePipeline`), so that the page can start them again without the project's
 * folder.
 */
export function storedPipelines(db: Database, parser: Pick<DefinitionParser, "parse">): Pipelines {
  return {
    async list(orgId, project) {
      const entries: ServedPipelineEntry[] = [];
      // One after the other, since all of them together may be larger than the memory.
      for (const key of await storedNames(db, orgId, project)) {
        const definition = await readDefinition(db, orgId, key);
        if (definition === undefined) continue;
        const { path } = definition;
        entries.push({ ...key, path, ...listedFacts(path, await parser.parse(orgId, definition)) });
      }
      return entries;
    },
    async find(orgId, request) {
      const { pipeline: name, definition: brought, fromStep } = request;
      const { project, definition } =
        brought === undefined
          ? await findStored(db, orgId, request)
          : { project: namedProject(request), definition: brought };
      const pipeline = runnable(definition.path, await parser.parse(orgId, definition));
      if (pipeline.name !== name) {
        throw new PipelineError(
          "invalid-request",
          `\`definition\` is of the pipeline \`${pipeline.name}\`, not of \`${name}\`.`,
        );
      }
      requireStep(pipeline, fromStep);
      const inputs = fixedInputs(pipeline, request.inputs);
      const work = remoteWork(definition, { fromStep, inputs });
      await requireSnapshot(db, orgId, definition.snapshot);
      return { project, pipeline, inputs, work };
    },
  };
}

function namedProject({ project }: StartRequest): string {
  if (project !== undefined) return project;
  throw new PipelineError("invalid-request", "A start with a `definition` has to name its `project`.");
}

/** In bytes: a runner reads a reply of 4 MiB, which has little else in it. */
const largestWork = 4 * 1024 * 1024 - 8 * 1024;

/**
 * Inputs are left out where there are none, so that a runner of an earlier version takes such work.
 * @throws PipelineError `payload-too-large`.
 */
function remoteWork(
  definition: RunDefinition,
  { fromStep, inputs }: Pick<FoundPipeline, "inputs"> & Pick<RunWork, "fromStep">,
): Work {
  const given = Object.keys(inputs).length === 0 ? {} : { inputs };
  const { commit, ...files } = definition;
  const work: RunWork = { ...files, fromStep, ...given };
  const text = JSON.stringify(work);
  if (Buffer.byteLength(text) > largestWork)
    throw new PipelineError(
      "payload-too-large",
      "The pipeline's files and its inputs, with their defaults, are larger than 4 MiB together.",
    );
  return { definition: text, ...(commit && { commit }) };
}

async function findStored(
  db: Database,
  orgId: string,
  { pipeline: name, project }: StartRequest,
): Promise<{ readonly project: string; readonly definition: RunDefinition }> {
  const names = await storedNames(db, orgId, project);
  const [found, other] = names.filter((each) => each.name === name);
  const definition = found && (await readDefinition(db, orgId, found));
  if (found === undefined || definition === undefined) {
    const projects = [...new Set(names.map((each) => each.project))].map((of) => ({ name: of }));
    throw noSuchPipeline(name, names, projects);
  }
  if (other !== undefined) {
    throw new PipelineError("conflict", `Several projects have a pipeline \`${name}\`.`, {
      next: "Name the project.",
    });
  }
  return { project: found.project, definition };
}

type StoredName = Pick<Selectable<Tables["pipelines"]>, "project" | "name">;

/** @returns undefined where it has been removed since. */
async function readDefinition(
  db: Database,
  orgId: string,
  { project, name }: StoredName,
): Promise<RunDefinition | undefined> {
  const row = await db
    .selectFrom("pipelines")
    .select(["path", "text", "snapshot", "parts", "git_commit"])
    .where("org_id", "=", orgId)
    .where("project", "=", project)
    .where("name", "=", name)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { path, text, parts, snapshot, git_commit: commit } = row;
  return {
    path,
    text,
    ...(parts === null ? {} : { parts: JSON.parse(parts) }),
    ...(snapshot === null ? {} : { snapshot }),
    ...(commit === null ? {} : { commit: JSON.parse(commit) }),
  };
}

/** @throws HttpProblem 428 when the service doesn't have the project's files; a face then sends them. */
async function requireSnapshot(db: Database, orgId: string, digest: string | undefined): Promise<void> {
  if (digest === undefined || (await nameSnapshot(db, { orgId, digest }))) return;
  throw new HttpProblem(428, "invalid-request", {
    message: "The project's files that this start names are not on the service.",
    next: "Start the run in the project's folder, which sends them.",
  });
}

function storedNames(db: Database, orgId: string, project: string | undefined): Promise<StoredName[]> {
  const rows = db
    .selectFrom("pipelines")
    .select(["project", "name"])
    .where("org_id", "=", orgId)
    .orderBy("project");
  return (project === undefined ? rows : rows.where("project", "=", project)).orderBy("name").execute();
}

type StoredPipeline = Pick<Selectable<Tables["pipelines"]>, "org_id" | "project" | "name" | "git_commit">;

/**
 * Stores the pipeline of a run at its launch. A start that is refused, or whose caller has left, stores none, so an org stores
 * no more pipelines than it has runs.
 */
export async function storePipeline(
  tx: Write,
  { org_id, project, name, git_commit }: StoredPipeline,
  { path, text, parts, snapshot }: RunWork,
): Promise<void> {
  const row = {
    path,
    text,
    parts: parts === undefined ? null : JSON.stringify(parts),
    snapshot: snapshot ?? null,
    git_commit,
  };
  await tx
    .insertInto("pipelines")
    .values({ org_id, project, name, ...row })
    .onConflict((conflict) =>
      conflict
        .columns(["org_id", "project", "name"])
        .doUpdateSet(row)
        // Written only if it differs: most starts bring what is stored already.
        .where(
          sql<boolean>`(pipelines.path, pipelines.text, pipelines.parts, pipelines.snapshot, pipelines.git_commit)
            is distinct from (excluded.path, excluded.text, excluded.parts, excluded.snapshot, excluded.git_commit)`,
        ),
    )
    .execute();
}

/** Removes the pipelines whose last run is one of these. */
export async function removePipelinesOf(tx: Write, runIds: readonly string[]): Promise<void> {
  await sql`
    delete from pipelines using runs
    where id in (${sql.join(runIds)})
      and (pipelines.org_id, pipelines.project, pipelines.name) = (runs.org_id, runs.project, runs.pipeline)
      and not exists (
        select 1 from runs as later where later.org_id = runs.org_id and later.project = runs.project
          and later.pipeline = runs.pipeline and later.id > runs.id
      )`.execute(tx);
}
