import type { InputValues } from "../../contract/inputs.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { Work } from "../runs/runs.ts";
import type { StoredInputs } from "../store/runInputs.ts";
import type { Quota } from "./slots.ts";

/** A start request that is checked already: the pipeline exists and can be run. */
export interface EnterRequest {
  readonly orgId: string;
  readonly actor: string;
  readonly project: string;
  readonly pipeline: string;
  readonly timeLimitSeconds: number;
  readonly idempotencyKey: string | undefined;
  /** See `agentHeader`. */
  readonly agent?: string | undefined;
  /** The inputs that it gives. */
  readonly given?: InputValues | undefined;
  /** All inputs as they are fixed from here on, whatever becomes of the file. */
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

  /** The caller is gone, or there is no outcome. @param reason what `outcome` rejects with. */
  leave(reason: unknown): void {
    if (this.#state !== "waiting") return;
    this.#state = "left";
    this.#settle.reject(reason);
  }
}
