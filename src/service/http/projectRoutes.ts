import { realpath, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { projectNameSchema } from "../../contract/pipelines.ts";
import { holdsSecret } from "../../machine/apiSecret.ts";
import { forgetProject, listProjects, putProject } from "../store/projects.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";

/** The org's projects, and the pipelines in their folders. */
export function projectRoutes(
  endpoints: Endpoints,
  { db, writer, pipelines, machine, prepare }: AppDeps,
): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/pipelines",
      summary: "The pipelines in the projects' folders, also the broken ones",
      access: "every role",
      query: z.object({ project: z.optional(z.string()) }),
      reply: {
        description: "The pipelines; `problem` says what is wrong with a file, with its line.",
        json: "PipelineList",
      },
    },
    async (context, { caller: { orgId } }) => {
      return reply({ pipelines: await pipelines.list(orgId, context.req.query("project")) });
    },
  );

  if (machine === undefined) return;
  endpoints.add(
    {
      method: "get",
      path: "/api/projects",
      summary: "The org's projects and their folders",
      access: "every role",
      reply: { description: "The projects by name.", json: "ProjectList" },
    },
    async (_, { caller }) => reply({ projects: await listProjects(db, caller.orgId) }),
  );

  endpoints.add(
    {
      method: "put",
      path: "/api/projects/{name}",
      summary: "Makes a folder of this machine known as a project",
      description:
        "A second folder of the same name gets another name, which is in the reply. A folder that a project has already, " +
        "perhaps reached by a link, is that project: the reply has its name and root.",
      access: "members",
      params: { name: "The project's name." },
      body: "ProjectRequest",
      reply: { description: "The project under the name that it now has.", json: "Project" },
    },
    async (_, { caller: { orgId }, params: { name }, body: { root } }) => {
      if (!projectNameSchema.safeParse(name).success || holdsSecret(name)) {
        throw new PipelineError(
          "invalid-request",
          "A project's name has 1 to 200 characters, none of them a control character.",
          {
            next: "Name the project with --project.",
          },
        );
      }
      if (!isAbsolute(root) || (await placeOf(root)) === undefined) {
        throw new PipelineError(
          "invalid-request",
          `\`root\` should be an absolute path of a folder, not ${root}.`,
        );
      }
      // Faces name a folder when somebody looks at its pipelines, and may run one next.
      prepare?.(undefined);
      return reply(await putProject({ db, writer }, orgId, { name, root }, placeOf));
    },
  );

  endpoints.add(
    {
      method: "delete",
      path: "/api/projects/{name}",
      summary: "Forgets a project; its runs and its files stay",
      access: "members",
      params: { name: "The project's name." },
      reply: { description: "The project as it was.", json: "Project" },
      errors: ["not-found", "conflict"],
    },
    async (_, { caller: { orgId }, params: { name } }) => {
      return reply(await writer.write((tx) => forgetProject(tx, orgId, name)));
    },
  );
}

/** A folder's path without links, as far as the disk tells it; undefined if there is no folder. */
async function placeOf(path: string): Promise<string | undefined> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  return isFolder ? realpath(path).catch(() => path) : undefined;
}
