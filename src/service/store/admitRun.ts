import { secondsToReset, utcDay } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { RunStatus, ServedRun } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { MakeId } from "./ids.ts";
import { type OrgRow, orgOfDay, placesTaken } from "./orgs.ts";
import { asRun } from "./runs.ts";
import { statement } from "./statement.ts";
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
      /** The day's runs with this one among them. */
      readonly ofDay: Pick<OrgRow, "runs_per_day" | "runs_today">;
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
  const [org] = await orgOfDay.run(tx, { orgId, day: utcDay(now) });
  if (org === undefined) throw new Error(`there is no org ${orgId}`);
  const [taken] = await placesTaken.run(tx, { orgId });
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
  await insertRun.run(tx, row);
  const ofDay = { runs_per_day: org.runs_per_day, runs_today: Number(org.runs_today) + 1 };
  return { kind: "started", run: asRun(row), ofDay };
}

/** Why an org in this state may start no run now; undefined when it may. */
export function refusalOf(
  org: Pick<OrgRow, "parallel_runs" | "runs_per_day" | "runs_today">,
  placesTaken: number,
  now: number,
): Refusal | undefined {
  if (Number(org.runs_today) >= org.runs_per_day) {
    return { scope: "free-day", secondsToReset: secondsToReset(now) };
  }
  return placesTaken >= org.parallel_runs ? { scope: "org" } : undefined;
}

type NewRun = Readonly<
  Record<
    "id" | "org_id" | "project" | "pipeline" | "actor" | "runner" | "status" | "day" | "holder",
    string
  > &
    Record<"created_at" | "time_limit_seconds" | "lease_until", number> & { idempotency_key: string | null }
>;

const insertRun = statement<NewRun>()((db, value) =>
  db.insertInto("runs").values({
    id: value("id"),
    org_id: value("org_id"),
    project: value("project"),
    pipeline: value("pipeline"),
    actor: value("actor"),
    runner: value("runner"),
    status: value("status"),
    day: value("day"),
    created_at: value("created_at"),
    stopped_at: null,
    time_limit_seconds: value("time_limit_seconds"),
    reason: null,
    idempotency_key: value("idempotency_key"),
    holder: value("holder"),
    lease_until: value("lease_until"),
    runner_pid: null,
    runner_birth: null,
  }),
);

/** The run that a key's wish has started. */
export const repeatedRun = statement<{ actor: string; idempotencyKey: string }>()((db, value) =>
  db
    .selectFrom("runs")
    .selectAll()
    .where("actor", "=", value("actor"))
    .where("idempotency_key", "=", value("idempotencyKey")),
);

/**
 * The run that this wish's key has started already.
 * @throws PipelineError `conflict` when the key was used for another pipeline.
 */
export async function findRepeated(db: Database, wish: RepeatedWish): Promise<ServedRun | undefined> {
  if (wish.idempotencyKey === undefined) return undefined;
  const { actor, idempotencyKey } = wish;
  const [row] = await repeatedRun.run(db, { actor, idempotencyKey });
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
