import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { followLog } from "../../../src/client/follow/followLog.ts";
import { followRun } from "../../../src/client/follow/followRun.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { LostStart } from "../../../src/client/service/replyErrors.ts";
import {
  type CancelOutcome,
  cancelEach,
  cancelWithRetries,
  myActiveRuns,
} from "../../../src/client/start/cancelRuns.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { Member, Row } from "../chaosService.ts";
import { hurriedClock } from "../hurriedClock.ts";
import type { Round } from "../round.ts";

/** The clients' clocks run this much faster, so a timeout of 10 s takes a little over 3 s. */
const hurry = 3;

/** The outcome of one start over the line. */
interface Asked {
  readonly member: Member;
  /** Of this start alone. */
  readonly pipeline: string;
  outcome:
    | { readonly kind: "open" }
    | { readonly kind: "started"; readonly runId: string }
    | { readonly kind: "refused" }
    | { readonly kind: "failed"; readonly error: unknown }
    /**
     * What was said to who left: that there may be a run, or that there is one, which is cancelled then; and when, in
     * milliseconds since 1970.
     */
    | {
        readonly kind: "left";
        readonly isInDoubt: boolean;
        readonly unwanted: string | undefined;
        readonly at: number;
      };
  /** How it ended, as a follower was told. */
  status?: string;
  log?: readonly unknown[];
}

/** Calls the client's functions over a bad line, and checks what they reported. */
export class ClientCalls {
  readonly #round: Round;
  readonly #url: URL;
  readonly #asked: Asked[] = [];
  readonly #cancelled = new Set<string>();
  readonly #open = new Set<Promise<void>>();

  constructor(url: URL, round: Round) {
    this.#url = url;
    this.#round = round;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  client(member: Member): ServiceClient {
    return new ServiceClient({
      baseUrl: this.#url,
      apiKey: member.secret,
      clock: hurriedClock(hurry),
      fetch: loopbackFetch(),
      retries: {},
    });
  }

  start(
    member: Member,
    pipeline: string,
    options: { readonly patienceSeconds: number; readonly leavesAfter: number | undefined },
  ): void {
    this.#round.count("starts");
    const asked: Asked = { member, pipeline, outcome: { kind: "open" } };
    this.#asked.push(asked);
    this.#keep(this.#start(asked, options));
  }

  cancel(member: Member, runId: string): void {
    const client = this.client(member);
    this.#keep(
      cancelWithRetries(() => client, undefined, runId, this.#round.signal).then(
        () => void this.#cancelled.add(runId),
        (error: unknown) => this.#mayFail("cancel", error),
      ),
    );
  }

  cancelMine(member: Member): void {
    this.#keep(
      this.#cancelMine(this.client(member)).then(
        (outcomes) => {
          for (const outcome of outcomes) {
            if (outcome.kind === "cancelled") this.#cancelled.add(outcome.runId);
            else this.#mayFail("cancel mine", outcome.error);
          }
        },
        (error: unknown) => this.#mayFail("cancel mine", error),
      ),
    );
  }

  async #cancelMine(client: ServiceClient): Promise<CancelOutcome[]> {
    const { signal } = this.#round;
    const { mine } = await myActiveRuns(client, signal);
    return cancelEach(
      client,
      mine.map(({ runId }) => runId),
      signal,
    );
  }

  /**
   * Checks everything that was reported, once all runs have ended.
   * @param hasSwallowed whether a line that swallows has had a start of this pipeline: then the service may start a run for one
   * who is gone.
   */
  async check(rows: readonly Row[], hasSwallowed: (pipeline: string) => boolean): Promise<void> {
    const round = this.#round;
    for (const { pipeline, outcome, status, log, member } of this.#asked) {
      const isSilent = hasSwallowed(pipeline);
      const own = rows.filter((row) => row.pipeline === pipeline);
      const [row] = own;
      const facts = {
        pipeline,
        outcome: { ...outcome, error: "error" in outcome && String(outcome.error) },
        own,
      };
      round.check(own.length <= 1, "one start request has made two runs", facts);
      switch (outcome.kind) {
        case "started":
          round.check(row?.id === outcome.runId, "a run that was promised is not there", facts);
          break;
        case "refused":
          round.check(row === undefined || isSilent, "a refused start has made a run", facts);
          break;
        case "failed": {
          const isTold = outcome.error instanceof LostStart;
          round.check(
            row === undefined || isTold || isSilent,
            "a start failed, and its run is there untold",
            facts,
          );
          break;
        }
        case "left": {
          // Nobody is told of a run that has ended by then.
          const hasEnded = row?.stopped_at != null && row.stopped_at <= outcome.at;
          const isOver = row === undefined || hasEnded || ["cancelled", "lost"].includes(row.status);
          round.check(
            isOver || outcome.isInDoubt || outcome.unwanted === row.id || isSilent,
            "who left has left a run behind, without a word",
            facts,
          );
          break;
        }
        case "open":
          round.check(false, "a start has no end", facts);
          break;
        default:
          outcome satisfies never;
      }
      if (status !== undefined) round.checkSame(status, row?.status, "a follower was told another end");
      if (log !== undefined && row !== undefined) {
        const whole: unknown[] = [];
        await followLog(
          member.client(),
          row.id,
          { follow: false },
          (entry) => whole.push(entry),
          round.signal,
        );
        const isSame = isDeepStrictEqual(log, whole);
        round.check(isSame, "a reader of the log was told other entries than there are", { log, whole });
      }
    }
    for (const runId of this.#cancelled) {
      const row = rows.find(({ id }) => id === runId);
      const isOver = row === undefined || row.stopped_at !== null;
      round.check(isOver, "a run that was cancelled is active", { runId, status: row?.status });
    }
  }

  async #start(
    asked: Asked,
    options: { readonly patienceSeconds: number; readonly leavesAfter: number | undefined },
  ): Promise<void> {
    const { member, pipeline } = asked;
    const { signal } = this.#round;
    const leaving = new AbortController();
    const { patienceSeconds, leavesAfter } = options;
    if (leavesAfter !== undefined) {
      pause(leavesAfter, undefined, { signal, ref: false }).then(
        () => leaving.abort(new Error("left")),
        () => {},
      );
    }
    let isInDoubt = false;
    let unwanted: string | undefined;
    const client = this.client(member);
    try {
      const outcome = await startRun(
        { pipeline },
        {
          client,
          patienceSeconds,
          onWaiting: () => {},
          onUnwanted: ({ runId }) => {
            unwanted = runId;
            this.cancel(member, runId);
          },
          onDoubt: () => {
            isInDoubt = true;
          },
        },
        AbortSignal.any([signal, leaving.signal]),
      );
      asked.outcome =
        outcome.kind === "started" ? { kind: "started", runId: outcome.run.runId } : { kind: "refused" };
      if (outcome.kind === "refused") this.#round.count("refusals");
    } catch (error) {
      signal.throwIfAborted();
      asked.outcome = leaving.signal.aborted
        ? { kind: "left", isInDoubt, unwanted, at: Date.now() }
        : { kind: "failed", error };
      if (!leaving.signal.aborted) this.#mayFail("start", error);
    }
    const { error, ...outcome } = { error: undefined, ...asked.outcome };
    this.#round.trace(`${pipeline}: start`, {
      ...outcome,
      ...(error === undefined ? {} : { error: String(error) }),
    });
    if (asked.outcome.kind === "started") await this.#follow(asked, asked.outcome.runId, client);
  }

  async #follow(asked: Asked, runId: string, client: ServiceClient): Promise<void> {
    const { signal } = this.#round;
    const entries: unknown[] = [];
    await Promise.all([
      followRun(client, { runId }, () => {}, signal).then(
        ({ status }) => {
          asked.status = status;
        },
        (error: unknown) => this.#mayFail("follow", error),
      ),
      followLog(client, runId, { follow: true }, (entry) => entries.push(entry), signal).then(
        () => {
          asked.log = entries;
        },
        (error: unknown) => this.#mayFail("log", error),
      ),
    ]);
  }

  /** Over a bad line, the only acceptable failure is that the service is out of reach. */
  #mayFail(what: string, error: unknown): void {
    if (this.#round.signal.aborted) return;
    this.#round.trace(`${what} failed`, String(error));
    const isClear = error instanceof PipelineError && error.type === "out-of-reach" && error.message !== "";
    this.#round.check(isClear, `${what}: a strange error`, {
      error: String(error),
      stack: error instanceof Error ? error.stack : undefined,
    });
  }

  #keep(work: Promise<void>): void {
    const kept: Promise<void> = work
      .catch((error: unknown) => this.#mayFail("call", error))
      .finally(() => this.#open.delete(kept));
    this.#open.add(kept);
  }
}
