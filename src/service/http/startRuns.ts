import type { HttpBindings } from "@hono/node-server";
import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import type { Project } from "../../contract/pipelineList.ts";
import {
  idempotencyKeySchema,
  type ServedRun,
  type StartRequest,
  startRequestSchema,
} from "../../contract/run.ts";
import { holdsSecret } from "../apiSecret.ts";
import { refusalOf } from "../store/admitRun.ts";
import type { Committed } from "../store/committedReads.ts";
import type { Caller } from "../store/keys.ts";
import { listProjects } from "../store/projects.ts";
import { type Answer, answerOf, refusalAnswer, refusalText } from "./answer.ts";
import type { AppDeps } from "./appDeps.ts";
import { rateLimitHeaders } from "./rateLimit.ts";
import { parseBody } from "./requestBody.ts";

/** `POST /api/runs`, from a key that may start runs. */
export interface AskedStart {
  readonly caller: Caller;
  readonly body: string;
  readonly header: (name: "idempotency-key" | "prefer") => string | undefined;
  readonly outgoing: HttpBindings["outgoing"];
  /** Aborts when nobody waits for the answer any more. */
  readonly left: () => AbortSignal;
}

/** What the request says. */
interface Wish {
  readonly caller: Caller;
  readonly pipeline: string;
  readonly project: string | undefined;
  readonly timeLimitSeconds: number | undefined;
  readonly idempotencyKey: string | undefined;
  /** For how long it may be held, in seconds. */
  readonly patience: number;
}

type StartDeps = Pick<AppDeps, "db" | "reads" | "places" | "runs" | "clock" | "pipelines" | "replies">;

/** Answers starts: at once where the answer is known already, otherwise when it is. The result throws PipelineErrors. */
export function startRuns(deps: StartDeps): (asked: AskedStart) => Answer | Promise<Answer> {
  // Who asks again and again sends the same bodies: each is read once.
  const known = new Map<string, StartRequest>();
  const read = (body: string): StartRequest => {
    const request = known.get(body) ?? parseBody(body, startRequestSchema);
    if (body.length <= shortBody) {
      if (known.size >= mostKnown) known.clear();
      known.set(body, request);
    }
    return request;
  };
  // Who was refused will mostly be refused again. All others are decided by the store alone, which has to look anyway.
  const lastRefused = new Set<string>();
  return (asked) => {
    const wish = readWish(asked, read(asked.body));
    const { orgId } = wish.caller;
    const latest = deps.reads.latest();
    const refused = lastRefused.has(orgId) ? refusedAtOnce(wish, latest, deps) : undefined;
    return refused ?? ask({ wish, asked, latest, lastRefused }, deps);
  };
}

/** Bodies that are remembered, by their characters and their number, and the number of orgs. */
const shortBody = 300;
const mostKnown = 500;

function readWish({ caller, header }: AskedStart, request: StartRequest): Wish {
  const { pipeline, project, timeLimitSeconds } = request;
  const idempotencyKey = readIdempotencyKey(header("idempotency-key"));
  return {
    caller,
    pipeline,
    project,
    timeLimitSeconds,
    idempotencyKey,
    patience: readWait(header("prefer")),
  };
}

/**
 * A start that would be refused anyway needs neither a turn in line nor the write lock: what is committed tells it, and
 * no more is promised by it. Only what is sure is told here, so the pipeline has to have been found a moment ago.
 */
function refusedAtOnce(
  wish: Wish,
  latest: Committed,
  { clock, pipelines, replies }: StartDeps,
): Answer | undefined {
  const { orgId, keyId } = wish.caller;
  if (wish.project === undefined || replies.stopping) return undefined;
  const now = clock.now();
  const org = latest.org(orgId, now);
  const refusal = refusalOf(org, latest.placesTaken(orgId), now);
  if (refusal === undefined || (refusal.scope === "org" && wish.patience > 0)) return undefined;
  if (wish.idempotencyKey !== undefined && latest.isRepeated(keyId, wish.idempotencyKey)) return undefined;
  const project = latest.project(orgId, wish.project);
  if (project === undefined || !pipelines.wasJustFound(project, wish.pipeline)) return undefined;
  const headers = rateLimitHeaders(org, now);
  // The same for all in the same second, but for their headers.
  const what = refusal.scope === "org" ? "refused" : `refused ${refusal.secondsToReset}`;
  const text = latest.madeOf(org, what, () => refusalText(refusal, 0));
  return refusalAnswer(refusal, headers, text);
}

interface Asking {
  readonly wish: Wish;
  readonly asked: AskedStart;
  /** To be used at once. */
  readonly latest: Committed;
  /** The orgs whose last start was refused. */
  readonly lastRefused: Set<string>;
}

async function ask({ wish, asked, latest, lastRefused }: Asking, deps: StartDeps): Promise<Answer> {
  const { reads, places, runs, clock, pipelines } = deps;
  const { caller, idempotencyKey } = wish;
  const { orgId, keyId } = caller;
  const { outgoing } = asked;
  const left = asked.left();

  /** A courtesy: a start that was granted is not lost for want of it. */
  const rateLimit = (): Answer["headers"] => {
    const now = clock.now();
    try {
      return rateLimitHeaders(reads.latest().org(orgId, now), now);
    } catch {
      return {};
    }
  };

  /** Answers with a run that begins once its caller, or another of the same wish, has this answer. */
  const started = (run: ServedRun, rateLimits: Answer["headers"]): Answer => {
    const headers = { ...rateLimits, location: `/api/runs/${run.runId}` };
    onceTold(outgoing, { told: () => runs.launch(run), left: () => runs.withdraw(run.runId) });
    return answerOf(runs.asTold(run), 201, headers);
  };

  const named = wish.project === undefined ? undefined : latest.project(orgId, wish.project);
  // Nearly every wish is new, and a look alone is cheap.
  if (idempotencyKey !== undefined && latest.isRepeated(keyId, idempotencyKey)) {
    const { pipeline, project } = wish;
    const repeated = await runs.repeated({ actor: keyId, idempotencyKey, pipeline, project });
    if (repeated !== undefined) return started(repeated, rateLimit());
  }
  const { project, pipeline } = await pipelines.find(
    named === undefined ? await projectsOf(deps, orgId, wish.project) : [named],
    wish.pipeline,
  );
  // Now that the pipeline is known, what is sure needs no turn in line: many may have come for the same refusal.
  const refused = lastRefused.has(orgId) ? refusedAtOnce(wish, reads.latest(), deps) : undefined;
  if (refused !== undefined) return refused;
  const began = clock.now();
  const admission = await places.request(
    {
      orgId,
      actor: keyId,
      project: project.name,
      pipeline: pipeline.name,
      timeLimitSeconds: wish.timeLimitSeconds ?? pipeline.timeLimitSeconds,
      idempotencyKey,
      work: { root: project.root, pipeline },
    },
    wish.patience,
    left,
  );
  switch (admission.kind) {
    case "refused": {
      const waitedSeconds = Math.max(0, Math.round((clock.now() - began) / 1000));
      const { refusal } = admission;
      if (lastRefused.size >= mostKnown) lastRefused.clear();
      lastRefused.add(orgId);
      return refusalAnswer(refusal, rateLimit(), refusalText(refusal, waitedSeconds));
    }
    case "repeated":
      return started(admission.run, rateLimit());
    case "started": {
      const { run, ofDay } = admission;
      lastRefused.delete(orgId);
      return started(run, rateLimitHeaders(ofDay, Date.parse(run.createdAt)));
    }
    default:
      return admission satisfies never;
  }
}

/** All projects of an org. @param name of a project that it doesn't have. @throws PipelineError `not-found` for that one, and for none. */
async function projectsOf(
  { db }: Pick<StartDeps, "db">,
  orgId: string,
  name: string | undefined,
): Promise<readonly Project[]> {
  const projects = name === undefined ? await listProjects(db, orgId) : [];
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
