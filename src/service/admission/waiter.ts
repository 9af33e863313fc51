import type { Org } from "../../contract/org.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";

/** A start that someone asks for, checked already: the pipeline exists and can be run. */
export interface EnterRequest {
  readonly orgId: string;
  readonly actor: string;
  readonly project: string;
  readonly pipeline: string;
  readonly timeLimitSeconds: number;
  readonly idempotencyKey: string | undefined;
  /** What the run's processes are to do, in which folder. The database doesn't hold it. */
  readonly work: { readonly root: string; readonly pipeline: Pipeline };
}

export type EnterOutcome = (
  | { readonly kind: "started"; readonly run: ServedRun }
  /** The same key had started this run before. */
  | { readonly kind: "repeated"; readonly run: ServedRun }
  | { readonly kind: "refused"; readonly refusal: Refusal }
) & {
  /** The day's numbers right behind the decision, with the run among them. */
  readonly day: Pick<Org, "limits" | "usage">;
};

/** The open reply to a start request. It is given once: granted or refused, or its caller has left before. */
export class Waiter {
  readonly request: EnterRequest;
  readonly outcome: Promise<EnterOutcome>;
  /** Whether the request may still wait for a slot. */
  mayWait: boolean;
  /** Its place in the queue, once it has one. */
  ticket: string | undefined;
  readonly #settle: PromiseWithResolvers<EnterOutcome>;
  #state: "waiting" | "given" | "left" = "waiting";

  constructor(request: EnterRequest, mayWait: boolean) {
    this.request = request;
    this.mayWait = mayWait;
    this.#settle = Promise.withResolvers<EnterOutcome>();
    this.outcome = this.#settle.promise;
  }

  get isOpen(): boolean {
    return this.#state === "waiting";
  }

  /** @returns whether there was still someone to give it to. */
  give(outcome: EnterOutcome): boolean {
    if (!this.isOpen) return false;
    this.#state = "given";
    this.#settle.resolve(outcome);
    return true;
  }

  /** Nobody waits for the outcome any more, or there is none. @param why what `outcome` rejects with. */
  leave(why: unknown): void {
    if (!this.isOpen) return;
    this.#state = "left";
    this.#settle.reject(why);
  }
}
