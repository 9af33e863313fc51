import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import {
  idempotencyKeySchema,
  isInWork,
  type Run,
  runQuerySchema,
  startRequestSchema,
} from "../../contract/run.ts";
import { holdsSecret } from "../apiSecret.ts";
import type { PipelineFiles } from "../pipelineFiles.ts";
import { findRepeated } from "../store/admitRun.ts";
import { readOrg } from "../store/orgs.ts";
import { listProjects } from "../store/projects.ts";
import { listRuns, readRun } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import { requireChange, type SignedIn } from "./authenticate.ts";
import { noSuchRun } from "./noSuchRun.ts";
import { setRateLimit } from "./rateLimit.ts";
import { reply, replyRefusal } from "./reply.ts";
import { requestBody } from "./requestBody.ts";
import { requestQuery } from "./requestQuery.ts";

/** Starting, listing, reading and cancelling runs. */
export function runRoutes({
  db,
  places,
  runs,
  clock,
  sweep,
  pipelines,
}: AppDeps & { readonly pipelines: PipelineFiles }): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();

  /** A courtesy: a start that was granted is not lost for want of it. */
  const tellRateLimit = async (context: Context<SignedIn>): Promise<void> => {
    const now = clock.now();
    const org = await readOrg(db, context.get("caller"), now).catch(() => undefined);
    if (org !== undefined) setRateLimit(context, org, now);
  };

  /** Answers with a run that begins once its caller, or another of the same wish, has this answer. */
  const answer = async (context: Context<SignedIn>, run: Run): Promise<Response> => {
    await tellRateLimit(context);
    onceTold(context.env.outgoing, {
      told: () => runs.launch(run),
      left: () => runs.withdraw(run.runId),
    });
    context.header("location", `/api/runs/${run.runId}`);
    return reply(context, run, 201);
  };

  routes.post("/", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const { orgId, keyId } = caller;
    const request = await requestBody(context, startRequestSchema);
    const idempotencyKey = readIdempotencyKey(context.req.header("idempotency-key"));
    const patience = readWait(context.req.header("prefer"));
    const left = AbortSignal.any([closedSignal(context.env.outgoing), context.get("open").revoked]);
    const wish = { actor: keyId, idempotencyKey, pipeline: request.pipeline, project: request.project };
    // Nearly every wish is new, and a look alone is cheap.
    const isRepeated = (await findRepeated(db, wish)) !== undefined;
    const repeated = isRepeated ? await runs.repeated(wish) : undefined;
    if (repeated !== undefined) return answer(context, repeated);
    const { project, pipeline } = await pipelines.find(
      await namedProjects(db, orgId, request.project),
      request.pipeline,
    );
    const began = clock.now();
    const admission = await places.request(
      {
        orgId,
        actor: keyId,
        project: project.name,
        pipeline: pipeline.name,
        timeLimitSeconds: request.timeLimitSeconds ?? pipeline.timeLimitSeconds,
        idempotencyKey,
        work: { root: project.root, pipeline },
      },
      patience,
      left,
    );
    switch (admission.kind) {
      case "refused":
        await tellRateLimit(context);
        return replyRefusal(
          context,
          admission.refusal,
          Math.max(0, Math.round((clock.now() - began) / 1000)),
        );
      case "repeated":
      case "started":
        return answer(context, admission.run);
      default:
        return admission satisfies never;
    }
  });

  routes.get("/", async (context) => {
    const { orgId, keyId } = context.get("caller");
    const { actor, limit = 20, ...query } = requestQuery(context, runQuerySchema, ["limit"]);
    return reply(
      context,
      await listRuns(db, orgId, { ...query, actor: actor === "me" ? keyId : actor, limit }),
    );
  });

  routes.get("/:id", async (context) => {
    const runId = context.req.param("id");
    return reply(context, (await readRun(db, context.get("caller"), runId)) ?? noSuchRun(runId));
  });

  routes.post("/:id/cancel", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const runId = context.req.param("id");
    const before = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
    if (!isInWork(before)) return reply(context, { runId, status: before.status });
    await runs.cancel(caller.orgId, runId, caller.keyId);
    // One that nobody holds has nobody who ends it, unless it is looked for.
    if (!runs.held().has(runId)) sweep();
    const after = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
    return reply(context, { runId, status: isInWork(after) ? "cancelling" : after.status });
  });

  return routes;
}

async function namedProjects(db: AppDeps["db"], orgId: string, name: string | undefined) {
  const projects = await listProjects(db, orgId, name);
  if (projects.length > 0) return projects;
  throw name === undefined
    ? new PipelineError("not-found", "The org has no project yet.", {
        next: "Start the run in a folder that holds pipelines/<name>.yaml.",
      })
    : new PipelineError("not-found", `The org has no project \`${name}\`.`, {
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

/** Aborts when the caller closes the connection before it has the reply; at once when it has done so already. */
function closedSignal(outgoing: HttpBindings["outgoing"]): AbortSignal {
  const closed = new AbortController();
  const onClose = () => {
    if (outgoing.writableFinished) return;
    closed.abort(new PipelineError("out-of-reach", "The caller closed the connection."));
  };
  if (outgoing.destroyed || outgoing.socket?.destroyed !== false) onClose();
  else outgoing.once("close", onClose);
  return closed.signal;
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
