import type { StartAttempt } from "../../../src/client/service/client.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { anySignal } from "../../../src/machine/anySignal.ts";
import type { Member, Row } from "../chaosService.ts";
import type { Round } from "../round.ts";

/** A start that was asked for over HTTP, perhaps more than once. */
interface AskedStart {
  readonly member: Member;
  readonly pipeline: string;
  readonly idempotencyKey: string;
  readonly leaving: AbortController;
  /** What replies have said of it: ids of runs, and scopes of refusals. */
  readonly promised: Set<string>;
  readonly refused: Set<string>;
  answers: number;
  asked: number;
}

/** The starts that clients have asked for, each of which may make one run at most. */
export class StartRequests {
  readonly #round: Round;
  readonly #startRequests: AskedStart[] = [];
  readonly #open = new Set<Promise<void>>();

  constructor(round: Round) {
    this.#round = round;
  }

  get all(): readonly AskedStart[] {
    return this.#startRequests;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  make(member: Member, pipeline: string, waitSeconds: number): AskedStart {
    const request: AskedStart = {
      member,
      pipeline,
      idempotencyKey: `start-${this.#startRequests.length}`,
      leaving: new AbortController(),
      promised: new Set(),
      refused: new Set(),
      answers: 0,
      asked: 0,
    };
    this.#startRequests.push(request);
    this.ask(request, waitSeconds);
    return request;
  }

  ask(request: AskedStart, waitSeconds: number): void {
    request.asked += 1;
    const answer: Promise<void> = this.#ask(request, waitSeconds).finally(() => this.#open.delete(answer));
    this.#open.add(answer);
  }

  async #ask(request: AskedStart, waitSeconds: number): Promise<void> {
    const { member, pipeline, idempotencyKey, leaving } = request;
    const signal = anySignal([leaving.signal, this.#round.signal]);
    let attempt: StartAttempt;
    try {
      attempt = await member.client().start({ pipeline }, { waitSeconds, idempotencyKey }, signal);
    } catch (error) {
      this.#round.trace(`${idempotencyKey}: no answer`, String(error));
      // The caller has left, or the service was killed, stopped or frozen under it.
      const isNoAnswer =
        leaving.signal.aborted ||
        (error instanceof PipelineError && error.type === "out-of-reach") ||
        /stopping/.test(String(error));
      this.#round.check(isNoAnswer, "a start failed with a strange error", String(error));
      return;
    }
    request.answers += 1;
    if (attempt.kind === "started") {
      request.promised.add(attempt.run.runId);
      this.#round.trace(`${idempotencyKey}: started`, attempt.run.runId);
    } else {
      request.refused.add(attempt.refusal.scope);
      this.#round.trace(`${idempotencyKey}: refused`, attempt.refusal);
    }
  }

  /** Checks what replies have said, once all are answered. */
  check(rows: readonly Row[]): void {
    const round = this.#round;
    for (const { idempotencyKey, member, promised, refused, asked, answers } of this.#startRequests) {
      const own = rows
        .filter((row) => row.idempotency_key === idempotencyKey && row.actor === member.keyId)
        .map(({ id }) => id);
      const facts = { idempotencyKey, own, promised: [...promised], refused: [...refused], asked, answers };
      round.check(own.length <= 1 && promised.size <= 1, "one start request has made two runs", facts);
      const isKept = [...promised].every((id) => own.includes(id));
      round.check(isKept, "a run that was promised is not there", facts);
      const isRefused = promised.size === 0 && asked === answers;
      round.check(!isRefused || own.length === 0, "a refused start has made a run", facts);
    }
  }
}
