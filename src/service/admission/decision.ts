import type { RawBuilder, Selectable } from "kysely";
import type { PipelineError } from "../../contract/errors.ts";
import type { InputValues } from "../../contract/pipelines.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { Work } from "../runs/runs.ts";
import type { MakeId } from "../store/ids.ts";
import type { StoredInputs } from "../store/runInputs.ts";
import type { Tables, Write } from "../store/tables.ts";
import type { Quota } from "./slots.ts";

export interface DecisionDeps {
  readonly store: AdmissionStore;
  readonly makeId: MakeId;
  /** The value of the runs' field `runner`. */
  readonly runner: string;
  /** Identifies this start of the service as the holder of waiters, and of runs on many machines. */
  readonly holder: string;
}

/** A transaction of admission, under the org's lock. */
export interface Decision extends DecisionDeps {
  readonly tx: Write;
  /** The time of the decision, in milliseconds since 1970. */
  readonly now: number;
  /** The open replies by ticket. */
  readonly waiters: Map<string, Waiter>;
  /** Delivered once the transaction is committed. */
  readonly deliveries: Delivery[];
  /** Called if the transaction fails: undoes its changes in memory. */
  readonly undo: (() => void)[];
}

/** The answer to a waiter: an outcome, or an error of the request itself. */
export type Delivery = { readonly waiter: Waiter } & (
  | { readonly outcome: EnterOutcome }
  | { readonly error: PipelineError }
);

/** The database operations of admission in which SQLite and PostgreSQL differ. */
export interface AdmissionStore {
  /** Whether a row of `waiters` counts, which is while the service that holds its request lives. */
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
  /** Inserts the row of a run that is being granted. Whoever receives the run has to launch or withdraw it. */
  insertRun(decision: Decision, row: NewRun, waiter: Waiter): Promise<void>;
  /**
   * Keeps a run for one more caller, so that it isn't withdrawn when the others leave.
   * @param waiter the caller; undefined for a request that doesn't wait.
   * @returns false if the run is withdrawn already; its row is then gone.
   */
  joinRun(decision: Decision, runId: string, waiter: Waiter | undefined): Promise<boolean>;
}

/** The row of a run that is being granted. */
export type NewRun = Pick<
  Selectable<Tables["runs"]>,
  | ("id" | "org_id" | "project" | "pipeline" | "actor" | "runner" | "status" | "day" | "created_at")
  | ("stopped_at" | "time_limit_seconds" | "reason" | "agent" | "asked_at" | "idempotency_key")
  | ("inputs" | "outputs" | "git_commit")
>;

/** A start request that has been checked: the pipeline exists and can be run. */
export interface EnterRequest {
  readonly orgId: string;
  readonly actor: string;
  readonly project: string;
  readonly pipeline: string;
  readonly timeLimitSeconds: number;
  readonly idempotencyKey: string | undefined;
  /** See `agentHeader`. */
  readonly agent?: string | undefined;
  /** The inputs that the request gives. */
  readonly given?: InputValues | undefined;
  /** All inputs, fixed from here on even if the file changes. */
  readonly inputs?: StoredInputs;
  readonly work: Work;
}

export type EnterOutcome = (
  | { readonly kind: "started"; readonly run: ServedRun }
  /** The same idempotency key had started this run before. */
  | { readonly kind: "repeated"; readonly run: ServedRun }
  | { readonly kind: "refused"; readonly refusal: Refusal }
) & {
  /** As of the decision, with the run counted. */
  readonly quota: Quota;
};

/** The open reply to a start request. It settles once. */
export class Waiter {
  readonly request: EnterRequest;
  readonly outcome: Promise<EnterOutcome>;
  /** Whether the request may still wait for a slot. */
  mayWait: boolean;
  /** Undefined until the request is in the queue. */
  ticket: string | undefined;
  /** When the request was first decided on, in milliseconds since 1970. */
  askedAt: number | undefined;
  readonly #settle = Promise.withResolvers<EnterOutcome>();
  #state: "waiting" | "answered" | "left" = "waiting";

  constructor(request: EnterRequest, mayWait: boolean) {
    this.request = request;
    this.mayWait = mayWait;
    this.outcome = this.#settle.promise;
  }

  get state(): "waiting" | "answered" | "left" {
    return this.#state;
  }

  /** @returns whether the caller was still there. */
  answer(outcome: EnterOutcome): boolean {
    if (this.#state !== "waiting") return false;
    this.#state = "answered";
    this.#settle.resolve(outcome);
    return true;
  }

  /** Settles without an outcome, as when the caller is gone. @param reason what `outcome` rejects with. */
  leave(reason: unknown): void {
    if (this.#state !== "waiting") return;
    this.#state = "left";
    this.#settle.reject(reason);
  }
}
