import { watchRuns } from "../../../src/client/follow/watchRuns.ts";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { Run } from "../../../src/contract/run.ts";
import type { Row } from "../chaosService.ts";
import type { Round } from "../round.ts";

const limit = 100;
/** How late a screen may be, in milliseconds, once the line is mended. */
const behind = 60_000;

/** A live view over a bad line. Once the line is mended, it has to show the real runs. */
export class Watched implements AsyncDisposable {
  readonly #round: Round;
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;
  #shown: readonly Run[] = [];
  #fault: unknown;

  constructor(client: ServiceClient, orgId: string, round: Round) {
    this.#round = round;
    this.orgId = orgId;
    this.#watching = this.#watch(client);
  }

  readonly orgId: string;

  async check(rows: readonly Row[]): Promise<void> {
    const there = rows
      .filter(({ org_id }) => org_id === this.orgId)
      .map(({ id, status }) => `${id} ${status}`)
      .sort();
    const shown = () => this.#shown.map(({ runId, status }) => `${runId} ${status}`).sort();
    const isRight = () => there.length > limit || shown().join() === there.join();
    await this.#round.comesToRest("a live list shows other runs than there are", behind, async () =>
      isRight() || this.#fault !== undefined ? undefined : { actual: shown(), expected: there },
    );
    this.#round.check(this.#fault === undefined, "a live list has broken off", String(this.#fault));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }

  /** Opens it again after a failure, as a person does. */
  async #watch(client: ServiceClient): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, this.#round.signal]);
    while (!signal.aborted) {
      try {
        await watchRuns(
          client,
          { limit, statuses: [] },
          {
            reconnect: async () => client,
            onRuns: (runs) => {
              this.#shown = runs;
            },
            onGone: () => {},
            onBroken: (error) => this.#round.trace("the live list is broken", String(error)),
          },
          signal,
        );
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof PipelineError) || error.type !== "out-of-reach") {
          this.#fault = error;
          return;
        }
        this.#round.trace("the live list could not be opened", String(error));
      }
    }
  }
}
