import { secondsToReset, utcDay } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { RunStatus, ServedRun } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { MakeId } from "./ids.ts";
import { type OrgRow, orgOfDay, slotsTaken } from "./orgs.ts";
import { asRun } from "./runs.ts";
import type { Database, Write } from "./tables.ts";

/** A start that someone asks for, checked already: the pipeline exists and can be run. */
export interface StartWish {
  readonly orgId: string;
  readonly actor: string;
  readonly project: string;
  readonly pipeline: string;
  readonly timeLimitSeconds: number;
  readonly idempotencyKey: string | undefined;
  /** What the run's processes are to do, in which folder. The store doesn't keep it. */
  readonly work: { readonly root: string; readonly pipeline: Pipeline };
}

/** What tells whether a wish was granted before. Its project is undefined where the request names none. */
export type RepeatedWish = Pick<StartWish, "actor" | "idempotencyKey" | "pipeline"> & {
  readonly project: string | undefined;
};

export type Admission =
  | {
      readonly kind: "started";
      readonly run: ServedRun;
    }
  /** The same wish had been granted before; this is that run. */
  | { readonly kind: "repeated"; readonly run: ServedRun }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export interface AdmitDeps {
  readonly now: () => number;
  readonly makeId: MakeId;
  readonly runner: string;
  /** This start of the service, and how long its word that it holds a run is good for, in milliseconds. */
  readonly holder: string;
  readonly leaseMilliseconds: number;
}

/**
 * Decides whether a run may start now, and makes its row when it may. The only place that makes runs. A used-up day is
 * told before a taken place, since waiting can't help it (contract: "Limits").
 */
export async function admitRun(tx: Write, wish: StartWish, deps: AdmitDeps): Promise<Admission> {
  const repeated = await findRepeated(tx, wish);
  if (repeated !== undefined) return { kind: "repeated", run: repeated };
  const now = deps.now();
  const { orgId } = wish;
  const org = await orgOfDay(tx, orgId, utcDay(now)).executeTakeFirst();
  if (org === undefined) throw new Error(`there is no org ${orgId}`);
  const taken = await slotsTaken(tx, orgId).executeTakeFirst();
  const refusal = refusalOf(org, Number(taken?.count), now);
  if (refusal !== undefined) return { kind: "refused", refusal };
  const row = {
    id: deps.makeId("run"),
    org_id: wish.orgId,
    project: wish.project,
    pipeline: wish.pipeline,
    actor: wish.actor,
    runner: deps.runner,
    status: "running" satisfies RunStatus,
    day: utcDay(now),
    created_at: now,
    stopped_at: null,
    time_limit_seconds: wish.timeLimitSeconds,
    reason: null,
    idempotency_key: wish.idempotencyKey ?? null,
    holder: deps.holder,
    lease_until: now + deps.leaseMilliseconds,
    runner_pid: null,
    runner_birth: null,
  };
  await tx.insertInto("runs").values(row).execute();
  return { kind: "started", run: asRun(row) };
}

/** Why an org in this state may start no run now; undefined when it may. */
function refusalOf(
  org: Pick<OrgRow, "parallel_runs" | "runs_per_day" | "runs_today">,
  placesTaken: number,
  now: number,
): Refusal | undefined {
  if (Number(org.runs_today) >= org.runs_per_day) {
    return { scope: "free-day", secondsToReset: secondsToReset(now) };
  }
  return placesTaken >= org.parallel_runs ? { scope: "org" } : undefined;
}

/** The run that a key's wish has started. */
export function repeatedRun(db: Database, actor: string, idempotencyKey: string) {
  return db
    .selectFrom("runs")
    .selectAll()
    .where("actor", "=", actor)
    .where("idempotency_key", "=", idempotencyKey);
}

/**
 * The run that this wish's key has started already.
 * @throws PipelineError `conflict` when the key was used for another pipeline.
 */
export async function findRepeated(db: Database, wish: RepeatedWish): Promise<ServedRun | undefined> {
  if (wish.idempotencyKey === undefined) return undefined;
  const row = await repeatedRun(db, wish.actor, wish.idempotencyKey).executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.pipeline !== wish.pipeline || (wish.project !== undefined && row.project !== wish.project)) {
    throw new PipelineError(
      "conflict",
      `This Idempotency-Key has started a run of \`${row.pipeline}\` already.`,
      {
        next: "Send a new key for a new wish.",
      },
    );
  }
  return asRun(row);
}

/** Takes back a run that nobody was told of and nothing was done for: its caller had gone before the reply. */
export async function withdrawRun(tx: Write, runId: string): Promise<void> {
  await tx.deleteFrom("runs").where("id", "=", runId).execute();
}
