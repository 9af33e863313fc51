import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { projectNameSchema, projectRequestSchema } from "../../contract/pipelineList.ts";
import { holdsSecret } from "../apiSecret.ts";
import { forgetProject, listProjects, putProject } from "../store/projects.ts";
import type { AppDeps } from "./appDeps.ts";
import { requireChange, type SignedIn } from "./authenticate.ts";
import { reply } from "./reply.ts";
import { requestBody } from "./requestBody.ts";

/** Naming the folders that hold pipelines, listing what is in them, and forgetting them again. */
export function projectRoutes({
  db,
  writer,
  pipelines,
}: Pick<AppDeps, "db" | "writer" | "pipelines">): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();

  routes.get("/pipelines", async (context) => {
    const projects = await listProjects(db, context.get("caller").orgId, context.req.query("project"));
    return reply({ pipelines: await pipelines.list(projects) });
  });

  routes.get("/projects", async (context) =>
    reply({ projects: await listProjects(db, context.get("caller").orgId) }),
  );

  routes.put("/projects/:name", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const name = context.req.param("name");
    if (!projectNameSchema.safeParse(name).success || holdsSecret(name)) {
      throw new PipelineError(
        "invalid-request",
        "A project's name has 1 to 200 characters, none of them a control character.",
        {
          next: "Name the project with --project.",
        },
      );
    }
    const { root } = await requestBody(context, projectRequestSchema);
    if (!isAbsolute(root) || !(await isFolder(root))) {
      throw new PipelineError(
        "invalid-request",
        `\`root\` should be an absolute path of a folder, not ${root}.`,
      );
    }
    return reply(await putProject({ db, writer }, caller.orgId, { name, root }, isFolder));
  });

  routes.delete("/projects/:name", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    return reply(await writer.write((tx) => forgetProject(tx, caller.orgId, context.req.param("name"))));
  });

  return routes;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
