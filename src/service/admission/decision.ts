import type { RawBuilder, Selectable } from "kysely";
import type { PipelineError } from "../../contract/errors.ts";
import type { MakeId } from "../store/ids.ts";
import type { Tables, Write } from "../store/tables.ts";
import type { EnterOutcome, Waiter } from "./waiter.ts";

export interface DecisionDeps {
  readonly store: AdmissionStore;
  readonly makeId: MakeId;
  /** What the runs' `runner` says. */
  readonly runner: string;
  /** Identifies this start of the service as the holder of waiters and of leases. */
  readonly holder: string;
}

/** A transaction of admission, behind the org's lock. */
export interface Decision extends DecisionDeps {
  readonly tx: Write;
  /** The time of the decision, in milliseconds since 1970. */
  readonly now: number;
  /** The open replies by ticket. */
  readonly waiters: Map<string, Waiter>;
  /** Made once the transaction is committed. */
  readonly deliveries: Delivery[];
  /** Called if it isn't committed: takes back what memory has of it. */
  readonly undo: (() => void)[];
}

/** What a waiter is answered: an outcome, or an error of the request itself. */
export type Delivery = { readonly waiter: Waiter } & (
  | { readonly outcome: EnterOutcome }
  | { readonly error: PipelineError }
);

/** What admission asks of its database, where SQLite and PostgreSQL differ. */
export interface AdmissionStore {
  /** Whether a row of `waiters` counts: the service that holds its request lives. */
  readonly isWaiting: RawBuilder<boolean>;
  /** Locks the org until the transaction's end. @returns the time, in milliseconds since 1970. */
  lock(tx: Write, orgId: string): Promise<number>;
  /** Puts a request at the end of the org's queue. @returns its ticket. */
  addWaiter(decision: Decision, waiter: Waiter): Promise<string>;
  /**
   * Takes the org's oldest request out of the queue.
   * @returns its waiters, the oldest first: several if it was sent again with its idempotency key, none if all have left.
   *   Undefined if the queue is empty.
   */
  takeOldest(
    decision: Pick<Decision, "tx" | "now" | "waiters" | "holder">,
    orgId: string,
  ): Promise<readonly Waiter[] | undefined>;
  /** Inserts the row of a run that is being granted. Whoever is told of the run has to launch or to withdraw it. */
  insertRun(decision: Decision, row: NewRun, waiter: Waiter): Promise<void>;
  /**
   * Keeps a run for one more caller, so that it isn't withdrawn when the others leave.
   * @param waiter the caller; undefined for a request that doesn't wait.
   * @returns false if it is withdrawn already: then its row is gone.
   */
  joinRun(decision: Decision, runId: string, waiter: Waiter | undefined): Promise<boolean>;
}

/** The row of a run that is being granted. */
export type NewRun = Pick<
  Selectable<Tables["runs"]>,
  | ("id" | "org_id" | "project" | "pipeline" | "actor" | "runner" | "status" | "day" | "created_at")
  | ("stopped_at" | "time_limit_seconds" | "reason" | "agent" | "asked_at" | "idempotency_key" | "holder")
  | ("inputs" | "outputs" | "git_commit")
>;
