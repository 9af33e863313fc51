import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrgName } from "../../contract/keys.ts";
import { largestArtifact, largestRanPipeline } from "../../contract/limits.ts";
import { type HeartbeatReply, longestHold, runnerIdSchema } from "../../contract/runners.ts";
import { largestSnapshot } from "../../contract/service.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { Bell } from "../../machine/clock.ts";
import type { SignedIn } from "../../service/http/authenticate.ts";
import { type Endpoints, longBody } from "../../service/http/endpoints.ts";
import { reply } from "../../service/http/reply.ts";
import { bodyBytes, bodyPieces, readWait, requestQuery } from "../../service/http/requestInput.ts";
import type { StoreDeps } from "../../service/store/storeDeps.ts";
import type { Database } from "../../service/store/tables.ts";
import type { RemoteRuns, RunnerName } from "../runs/remoteRuns.ts";
import type { PostgresBus } from "../store/postgresBus.ts";
import { putArtifactContent } from "../store/storedLogs.ts";
import { keepSnapshot, putSnapshot, readSnapshot } from "../store/storedSnapshots.ts";
import { snapshotOf } from "../store/work.ts";
import { WorkQueues } from "./workQueues.ts";

export interface RunnerRouteDeps extends Pick<StoreDeps, "db" | "writer" | "clock"> {
  readonly bus: PostgresBus;
  readonly runs: RemoteRuns;
  readonly stopping: AbortSignal;
}

/**
 * The requests of a runner on another machine. Its id alone gives no access: a run's holder is the key and the id together, so
 * that no runner can act for one of another key.
 */
export function runnerRoutes(endpoints: Endpoints, deps: RunnerRouteDeps): void {
  const { db, runs, bus } = deps;
  const queues = new WorkQueues(deps.clock);
  bus.subscribeToAll((orgId, { kind }) => {
    // An empty org means that the connection was lost, so anything may have happened.
    if (orgId === "") queues.ringAll();
    else if (kind === "work") queues.ring(orgId);
  });
  const params = { id: "The runner's id." };
  const prefer = {
    name: "Prefer",
    description: "`wait=<seconds>` (RFC 7240) holds the request until there is something to tell.",
    schema: z.string(),
  };
  endpoints.add(
    {
      method: "post",
      path: "/api/runners",
      summary: "Makes a runner known",
      access: "runners",
      body: "RunnerRequest",
      reply: { status: 201, description: "Its id, for its other requests.", json: "Runner" },
    },
    (_, { body: { label } }) => {
      // The label is part of the id: nothing of a runner is stored, and its runs show which machine it is.
      const name = label.replaceAll(/[^A-Za-z0-9-]+/g, "-").slice(0, 40);
      return reply({ runnerId: `rnr_${name}_${randomBytes(8).toString("hex")}` }, 201);
    },
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/runners/{id}/work",
      summary: "Takes the run that has waited longest for a runner",
      description:
        "204 when there is none. The run is the runner's from then on, and lost when it says nothing for the lease.",
      access: "runners",
      params,
      headers: [prefer],
      body: "WorkRequest",
      reply: { description: "The run.", json: "Work" },
    },
    async (context, { caller, params: { id }, body: { runs: known } }) => {
      const runnerId = readRunnerId(id);
      const orgId = await orgOf(db, caller.orgId);
      const taken = await queues.take(
        orgId,
        () => runs.take({ keyId: caller.keyId, runnerId }, { orgId, known }),
        holdMilliseconds(context, longestHold.work),
        anySignal([deps.stopping, context.get("open").left]),
      );
      if (taken === undefined) return new Response(null, { status: 204 });
      const { orgId: _, ...work } = taken;
      return reply(work);
    },
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/runners/{id}/heartbeat",
      summary: "Says that a runner lives, and hears which of its runs to end",
      access: "runners",
      params,
      headers: [prefer],
      body: "Heartbeat",
      reply: { description: "What to end.", json: "HeartbeatReply" },
    },
    async (context, { caller: { keyId }, params: { id }, body }) => {
      const runner = { keyId, runnerId: readRunnerId(id) };
      const milliseconds = holdMilliseconds(context, longestHold.heartbeat);
      return reply(await renewed(deps, runner, body.runs, milliseconds, context.get("open").left));
    },
  );
  heldRunRoutes(endpoints, deps);
}

/** Checks a runner's id, which is shown with each of its runs. @throws PipelineError `invalid-request`. */
function readRunnerId(text: string): string {
  const parsed = runnerIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new PipelineError("invalid-request", "This is no runner's id.", {
    next: "POST /api/runners gives one.",
  });
}

/** The requests of a runner about a run that it holds. */
function heldRunRoutes(endpoints: Endpoints, { db, writer, clock, runs }: RunnerRouteDeps): void {
  const ofRunner = z.object({ runnerId: runnerIdSchema });
  const params = { id: "The run's id." };
  endpoints.add(
    {
      method: "post",
      path: "/api/runs/{id}/messages",
      summary: "What a runner has to say of its run: steps, output, artifacts, the end",
      description: "All of it is taken in, or nothing. `conflict` when the run is not the runner's any more.",
      access: "runners",
      params,
      body: "RunnerMessages",
      bodyBytes: () => largestRanPipeline + longBody,
      reply: { status: 204, description: "They are taken in, now or by an earlier request." },
      errors: ["conflict"],
    },
    async (_, { caller: { keyId }, params: { id: runId }, body: { runnerId, first, messages } }) => {
      await runs.takeIn({ keyId, runnerId }, runId, first, messages);
      return new Response(null, { status: 204 });
    },
  );

  endpoints.add(
    {
      method: "put",
      path: "/api/runs/{id}/artifact-contents/{file}",
      summary: "Sends what is in an artifact, before the message that lists it",
      access: "runners",
      params: { ...params, file: "The artifact's `file`." },
      query: ofRunner,
      reply: { status: 204, description: "It is kept." },
      errors: ["conflict"],
    },
    async (context, { caller: { keyId }, params: { id: runId, file } }) => {
      const { runnerId } = requestQuery(context, ofRunner, []);
      const runner = { keyId, runnerId };
      // A body is held in memory only for a runner that may send it.
      await writer.write((tx) => runs.requireHeld(tx, runner, runId));
      const content = await bodyBytes(context, largestArtifact);
      await writer.write(async (tx) => {
        await runs.requireHeld(tx, runner, runId);
        await putArtifactContent(tx, runId, file, content);
      });
      return new Response(null, { status: 204 });
    },
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/snapshot",
      summary: "The files of the project, for the runner that holds the run",
      access: "runners",
      params,
      query: ofRunner,
      reply: { description: "A gzipped tar.", bytes: ["application/gzip"] },
      errors: ["conflict", "not-found"],
    },
    async (context, { caller: { keyId }, params: { id: runId } }) => {
      const { runnerId } = requestQuery(context, ofRunner, []);
      const runner = { keyId, runnerId };
      const name = await writer.write(async (tx) => {
        await runs.requireHeld(tx, runner, runId);
        return snapshotOf(tx, runId);
      });
      const bytes = name === undefined ? undefined : await keepSnapshot(db, name, clock.now());
      if (name === undefined || bytes === undefined)
        throw new PipelineError("not-found", "The snapshot of this run is gone.");
      const headers = { "content-type": "application/gzip", "content-length": String(bytes) };
      return context.body(ReadableStream.from(readSnapshot(db, name)), 200, headers);
    },
  );
}

/** The org whose work a key takes; undefined for every org. */
async function orgOf(db: Database, orgId: string): Promise<string | undefined> {
  const org = await db.selectFrom("orgs").select("name").where("id", "=", orgId).executeTakeFirstOrThrow();
  return org.name === everyOrgName ? undefined : orgId;
}

function holdMilliseconds(context: Context<SignedIn>, longestSeconds: number): number {
  return Math.min(readWait(context.req.header("prefer")), longestSeconds) * 1000;
}

/** Renews the leases of a runner's runs: once, and again if one of them has to end within the time. */
async function renewed(
  { runs, bus, clock, stopping }: RunnerRouteDeps,
  runner: RunnerName,
  runIds: readonly string[],
  milliseconds: number,
  left: AbortSignal,
): Promise<HeartbeatReply> {
  const own = new Set(runIds);
  const bell = new Bell();
  const unsubscribe = bus.subscribeToAll((orgId, event) => {
    // An empty org means that the connection was lost, so anything may have happened.
    if (orgId === "" || (event.kind === "stop" && own.has(event.runId))) bell.ring();
  });
  const ended = anySignal([stopping, left]);
  const until = clock.monotonic() + milliseconds;
  try {
    for (;;) {
      const answer = await runs.renew(runner, runIds);
      const rest = until - clock.monotonic();
      if (answer.stop.length + answer.gone.length > 0 || rest <= 0) return answer;
      // The leases aren't renewed again for a runner that has left, or has nothing to hear.
      if (!(await bell.wait(clock, rest, ended)) || ended.aborted) return answer;
    }
  } finally {
    unsubscribe();
  }
}

/** The files of projects, which a start's `definition` names by their digest. Each is sent once. */
export function snapshotRoutes(
  endpoints: Endpoints,
  { db, writer, clock }: Pick<StoreDeps, "db" | "writer" | "clock">,
): void {
  const params = { digest: "The SHA-256 of the snapshot, in hex." };
  endpoints.add(
    {
      method: "get",
      path: "/api/snapshots/{digest}",
      summary: "Whether the service has a snapshot of a project's files already",
      access: "members",
      params,
      reply: { description: "It has.", json: "Snapshot" },
      errors: ["not-found"],
    },
    async (_, { caller: { orgId }, params: { digest } }) => {
      const bytes = await keepSnapshot(db, { orgId, digest }, clock.now());
      if (bytes === undefined) throw new PipelineError("not-found", "The service has no such snapshot yet.");
      return reply({ digest, bytes });
    },
  );
  endpoints.add(
    {
      method: "put",
      path: "/api/snapshots/{digest}",
      summary: "Sends a snapshot of a project's files",
      description: `The body is a gzipped tar of at most ${largestSnapshot} bytes.`,
      access: "members",
      params,
      reply: { description: "The service has it.", json: "Snapshot" },
    },
    async (context, { caller: { orgId }, params: { digest } }) => {
      const length = Number(context.env.incoming.headers["content-length"] ?? Number.NaN);
      if (Number.isNaN(length)) {
        throw new PipelineError("invalid-request", "The request doesn't say how long its body is.", {
          next: "Send it with Content-Length.",
        });
      }
      const content = { length, pieces: bodyPieces(context, largestSnapshot) };
      await putSnapshot({ db, writer }, { orgId, digest }, content, clock.now());
      return reply({ digest, bytes: content.length });
    },
  );
}
