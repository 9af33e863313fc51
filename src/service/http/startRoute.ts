import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { agentHeader, agentSchema, idempotencyKeySchema, type StartRequest } from "../../contract/run.ts";
import { holdsSecret } from "../../machine/apiSecret.ts";
import type { EnterOutcome } from "../admission/decision.ts";
import { storedInputs } from "../store/runInputs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { SignedIn } from "./authenticate.ts";
import { type Endpoints, longBody } from "./endpoints.ts";
import { HttpProblem, rateLimitHeaders, refusalReply, reply } from "./reply.ts";
import { readAgent, readIdempotencyKey, readWait } from "./requestInput.ts";

/** In bytes. A kernel usually gives a program at most 2 MiB of arguments and environment; as JSON, they are longer. */
const largestStart = 4 * 1024 * 1024;

export function startRoute(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "post",
      path: "/api/runs",
      summary: "Starts a run of a pipeline",
      description:
        "`inputs` are what the pipeline's file declares: a text is read as the number or the boolean that an input is, and each without a default has to be given. They are fixed now, as the file is, also for a request that waits.\n\nRefused with `too-many-runs` when another run holds the org's slot (scope `org`) or the day's runs are used (scope `free-day`, which goes first). A refused start makes no run and uses none of the day's. Closing the connection of a held request leaves the queue.",
      access: "members",
      headers: [
        {
          name: "Prefer",
          description: `\`wait=<seconds>\` (RFC 7240) holds the request in the queue for a slot, for at most ${waitSeconds} s; first come, first served. Without it the answer comes at once.`,
          schema: z.string(),
        },
        {
          name: "Idempotency-Key",
          description:
            "Identifies the start request. The same key again brings the run that it has started, and no other; with another pipeline or other inputs it is a `conflict`.",
          schema: idempotencyKeySchema,
        },
        {
          name: "Agent",
          description:
            "The coding agent that starts the run, as it calls itself: 1 to 100 characters of printable ASCII.",
          schema: agentSchema,
        },
      ],
      body: "StartRequest",
      // The larger limit is for a whole environment, or for a pipeline's files; any other caller sends only inputs.
      bodyBytes: ({ keyId }) =>
        deps.machine === undefined || keyId === deps.machine.keyId ? largestStart : longBody,
      reply: {
        status: 201,
        description: "The run, or the one that this Idempotency-Key had started before.",
        json: "Run",
        headers: ["Location", "RateLimit", "RateLimit-Policy"],
      },
      errors: ["not-found", "conflict", "too-many-runs"],
    },
    (context, { body }) => startRun(context, body, deps),
  );
}

/** Starts a run. While the org's slot is taken, the request is held for as long as `Prefer: wait` says. */
async function startRun(context: Context<SignedIn>, body: StartRequest, deps: AppDeps): Promise<Response> {
  const { clock } = deps;
  const began = clock.now();
  const how = {
    idempotencyKey: readIdempotencyKey(context.req.header("idempotency-key")),
    waitSeconds: Math.min(readWait(context.req.header("prefer")), waitSeconds),
    agent: readAgent(context.req.header(agentHeader)),
  };
  if (deps.machine === undefined && body.definition === undefined)
    throw new HttpProblem(428, "invalid-request", {
      message: "This service runs pipelines on other machines, so a start brings its `definition`.",
      next: "Start the run in the project's folder, or from the page.",
    });
  const isOwn = context.get("caller").keyId === deps.machine?.keyId;
  if (body.environment !== undefined && !isOwn)
    throw new HttpProblem(400, "invalid-request", {
      message:
        "Only a start with this machine's own key brings its `environment`: with it, any program can be run.",
      next: "Leave it out.",
    });
  const outcome = await requestRun(context, body, how, deps);
  const now = clock.now();
  const limits = rateLimitHeaders(outcome.quota, now);
  if (outcome.kind === "refused") {
    const waitedSeconds = Math.max(0, Math.round((now - began) / 1000));
    return refusalReply(outcome.refusal, waitedSeconds, limits);
  }
  const { run } = outcome;
  return reply(run, 201, { ...limits, location: `/api/runs/${run.runId}` });
}

interface HowToStart {
  readonly idempotencyKey: string | undefined;
  readonly waitSeconds: number;
  /** See `agentHeader`. */
  readonly agent?: string | undefined;
}

/**
 * Requests a run for the caller. A granted run begins once the reply has been sent.
 * @throws PipelineError when the pipeline can't be found or can't be run, or no run can begin here.
 */
export async function requestRun<Env extends SignedIn>(
  context: Context<Env>,
  body: StartRequest,
  { idempotencyKey, waitSeconds: patience, agent }: HowToStart,
  deps: AppDeps,
): Promise<EnterOutcome> {
  const { admission, runs } = deps;
  if (Object.values(body.inputs ?? {}).some((value) => typeof value === "string" && holdsSecret(value))) {
    throw new PipelineError("invalid-request", "An input holds an API key.", {
      next: "Inputs are shown with the run: bring a secret by a variable of the environment.",
    });
  }
  // Called before admission, which takes less time than starting a process.
  deps.prepare?.(body.environment);
  const caller = context.get("caller");
  const request = { orgId: caller.orgId, actor: caller.keyId, idempotencyKey, given: body.inputs };
  const found = await deps.pipelines.find(caller.orgId, body).catch(async (error: unknown) => {
    // A repeated request gets its run even if the pipeline is gone.
    const repeated = await admission.repeated({ ...request, ...body, project: body.project });
    if (repeated === undefined) throw error;
    return repeated;
  });
  const outcome =
    "kind" in found
      ? found
      : await admission.enter(
          {
            ...request,
            agent,
            project: found.project,
            pipeline: found.pipeline.name,
            timeLimitSeconds: body.timeLimitSeconds ?? found.pipeline.timeLimitSeconds,
            inputs: storedInputs(found.inputs, body.inputs),
            work: found.work,
          },
          patience,
          context.get("open").left,
        );
  if (outcome.kind !== "refused") {
    const { run } = outcome;
    const problem = outcome.kind === "started" ? deps.machine?.whyUnrunnable() : undefined;
    if (problem !== undefined) {
      runs.withdraw(run.runId);
      throw problem;
    }
    onceReplied(context.env.outgoing, {
      sent: () => runs.launch(run),
      left: () => runs.withdraw(run.runId),
    });
  }
  return outcome;
}

/**
 * Calls `sent` once the reply has been sent, or `left` if its caller left before that. A run begins only then: closing the
 * connection means leaving the queue, and must not leave behind an active run that nobody follows.
 */
function onceReplied(
  outgoing: HttpBindings["outgoing"],
  { sent, left }: { readonly sent: () => void; readonly left: () => void },
): void {
  const settle = () => {
    outgoing.off("finish", settle);
    outgoing.off("close", settle);
    if (outgoing.writableFinished) sent();
    else left();
  };
  outgoing.once("finish", settle);
  outgoing.once("close", settle);
  if (outgoing.destroyed) settle();
}
