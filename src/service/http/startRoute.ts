import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { idempotencyKeySchema, type StartRequest } from "../../contract/run.ts";
import { holdsSecret } from "../apiSecret.ts";
import type { Caller } from "../store/keys.ts";
import { listProjects } from "../store/projects.ts";
import type { AppDeps } from "./appDeps.ts";
import type { SignedIn } from "./authenticate.ts";
import { answerOf, rateLimitHeaders, refusalAnswer, send } from "./reply.ts";

type StartDeps = Pick<AppDeps, "db" | "admission" | "runs" | "clock" | "pipelines">;

/** `POST /api/runs`: starts a run; while the org's slot is taken, the request is held for as long as `Prefer: wait` says. */
export function startRuns(
  deps: StartDeps,
): (context: Context<SignedIn>, given: { readonly body: StartRequest }) => Promise<Response> {
  const { admission, runs, clock } = deps;

  return async (context, { body }) => {
    const began = clock.now();
    const caller = context.get("caller");
    const idempotencyKey = readIdempotencyKey(context.req.header("idempotency-key"));
    const asked = { orgId: caller.orgId, actor: caller.keyId, idempotencyKey };
    const found = await findPipeline(caller, body, deps).catch(async (error: unknown) => {
      // A repeated key is told what it has started also when the pipeline is there no more.
      const repeated = await admission.repeated({ ...asked, ...body, project: body.project });
      if (repeated === undefined) throw error;
      return repeated;
    });
    const outcome =
      "kind" in found
        ? found
        : await admission.enter(
            {
              ...asked,
              project: found.project.name,
              pipeline: found.pipeline.name,
              timeLimitSeconds: body.timeLimitSeconds ?? found.pipeline.timeLimitSeconds,
              work: { root: found.project.root, pipeline: found.pipeline },
            },
            readWait(context.req.header("prefer")),
            context.get("open").left,
          );
    const now = clock.now();
    const limits = rateLimitHeaders(outcome.quota, now);
    if (outcome.kind === "refused") {
      const waitedSeconds = Math.max(0, Math.round((now - began) / 1000));
      return send(refusalAnswer(outcome.refusal, waitedSeconds, limits));
    }
    const { run } = outcome;
    onceTold(context.env.outgoing, { told: () => runs.launch(run), left: () => runs.withdraw(run.runId) });
    return send(answerOf(runs.upToDate(run), 201, { ...limits, location: `/api/runs/${run.runId}` }));
  };
}

/** The pipeline that is asked for, and its project. @throws PipelineError `not-found`, and what `ProjectPipelines.find` throws. */
async function findPipeline(
  { orgId }: Caller,
  { pipeline, project }: StartRequest,
  { db, pipelines }: StartDeps,
): ReturnType<AppDeps["pipelines"]["find"]> {
  const projects = await listProjects(db, orgId, project);
  if (projects.length > 0) return pipelines.find(projects, pipeline);
  throw project === undefined
    ? new PipelineError("not-found", "The org has no project yet.", {
        next: "Start the run in a folder that holds pipelines/<name>.yaml.",
      })
    : new PipelineError("not-found", `The org has no project \`${project}\`.`, {
        next: "Start the run in the project's folder once, which makes it known.",
      });
}

/**
 * Waits until the reply has left this process, or the caller has left before. A run begins only once its caller was
 * told of it: who closes the connection gives up the turn, and must not find a run in work that nobody follows.
 */
function onceTold(
  outgoing: HttpBindings["outgoing"],
  then: { readonly told: () => void; readonly left: () => void },
): void {
  const settle = () => {
    outgoing.off("finish", settle);
    outgoing.off("close", settle);
    if (outgoing.writableFinished) then.told();
    else then.left();
  };
  outgoing.once("finish", settle);
  outgoing.once("close", settle);
  if (outgoing.destroyed) settle();
}

/** `Prefer: wait=<seconds>` (RFC 7240); no more than the contract's wait is granted. Others' preferences are passed over. */
function readWait(header: string | undefined): number {
  const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(header ?? "")?.[1];
  return wait === undefined ? 0 : Math.min(Number(wait), waitSeconds);
}

function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = idempotencyKeySchema.safeParse(header);
  if (parsed.success && !holdsSecret(header)) return header;
  throw new PipelineError("invalid-request", "Idempotency-Key should have 1 to 255 characters.", {
    next: "Send a name that you make up for each wish, such as a UUID; never an API key.",
  });
}
