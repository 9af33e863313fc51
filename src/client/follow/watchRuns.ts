import { PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { ServiceClient } from "../service/client.ts";
import { mayComeBack } from "../service/failedRequest.ts";
import { AbsentEndpoint } from "../service/replyErrors.ts";
import { growingPauses } from "../service/retry.ts";
import { type ServiceEvent, watchEvents } from "./events.ts";
import { isWanted, listRuns, newestFirst, type WantedRuns } from "./listRuns.ts";

export interface WatchRunsDeps {
  /** Finds the service again after a failure: the embedded one may have a new address. */
  readonly reconnect: (signal: AbortSignal) => Promise<ServiceClient>;
  /**
   * Called with the wanted runs, newest first, whenever they may have changed.
   * @param me the id of the caller's key.
   */
  readonly onRuns: (runs: readonly Run[], me: string) => void;
  /** Called with a run that no longer passes the filter. */
  readonly onGone: (run: Run) => void;
  /** Called when the connection breaks; the runs are stale until the next `onRuns`. */
  readonly onBroken: (error: PipelineError) => void;
}

const pauseBounds = { shortest: 1000, longest: 30_000 } as const;

/**
 * Keeps a list of runs live over the service's events (contract: "Endpoints", `GET /api/events`), without polling. The list
 * is read once after each stream has opened, so that no change is missed.
 *
 * @throws the signal's reason; PipelineError `AbsentEndpoint` from a service without the list or events, `unauthorized` and
 * `forbidden` for a key that is refused; `out-of-reach` from the first read.
 */
export async function watchRuns(
  client: ServiceClient,
  wanted: WantedRuns,
  deps: WatchRunsDeps,
  signal: AbortSignal,
): Promise<never> {
  const list = new LiveList(wanted, deps);
  await list.read(client, signal);
  let service = client;
  let pauses = growingPauses(client.random, pauseBounds);
  for (;;) {
    const error = await list.follow(
      service,
      () => {
        pauses = growingPauses(client.random, pauseBounds);
      },
      signal,
    );
    signal.throwIfAborted();
    if (error.type === "unauthorized" || error.type === "forbidden") throw error;
    deps.onBroken(error);
    await service.clock.sleep(pauses.next().value, signal);
    try {
      service = await deps.reconnect(signal);
    } catch (fault) {
      signal.throwIfAborted();
      if (!mayComeBack(fault)) throw fault;
    }
  }
}

class LiveList {
  readonly #wanted: WantedRuns;
  readonly #deps: WatchRunsDeps;
  #runs = new Map<string, Run>();
  #me = "";
  /** Runs from events during the reading of the list, which are newer than it. */
  #changed: Map<string, Run> | undefined;

  constructor(wanted: WantedRuns, deps: WatchRunsDeps) {
    this.#wanted = wanted;
    this.#deps = deps;
  }

  /** Follows the events of one connection. @returns why it broke. @throws what reconnecting can't fix. */
  async follow(client: ServiceClient, onGood: () => void, signal: AbortSignal): Promise<PipelineError> {
    const unread = new AbortController();
    const onOpened = (): void => {
      this.read(client, ends).then(onGood, (error: unknown) => unread.abort(error));
    };
    const ends = anySignal([signal, unread.signal]);
    const onEvent = (event: ServiceEvent): void => {
      if (event.kind === "run") this.#change(event.run);
    };
    try {
      return await watchEvents(client, onOpened, onEvent, ends);
    } catch (error) {
      signal.throwIfAborted();
      // If the list is absent too, that error has its own message.
      if (error instanceof AbsentEndpoint && !unread.signal.aborted) {
        throw new PipelineError("not-supported", `${client.baseUrl.host} doesn't tell when runs change.`, {
          next: "`pipeline runs list` shows them as they are now.",
        });
      }
      if (error instanceof PipelineError && !(error instanceof AbsentEndpoint)) return error;
      throw error;
    }
  }

  async read(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const changed = new Map<string, Run>();
    this.#changed = changed;
    const [{ runs }, { actor }] = await Promise.all([
      listRuns(client, this.#wanted, signal),
      client.org(signal),
    ]);
    signal.throwIfAborted();
    this.#me = actor;
    const before = this.#runs;
    this.#runs = new Map(runs.map((run) => [run.runId, run]));
    this.#changed = undefined;
    for (const run of changed.values()) this.#put(run);
    await this.#reportGone(client, before, signal);
    this.#report();
  }

  #change(run: Run): void {
    if (this.#changed !== undefined) {
      this.#changed.set(run.runId, run);
      return;
    }
    const wasThere = this.#runs.has(run.runId);
    const isThere = this.#put(run);
    if (!isThere && wasThere) this.#deps.onGone(run);
    if (isThere || wasThere) this.#report();
  }

  /** Adds or removes the run. @returns whether it is wanted. */
  #put(run: Run): boolean {
    const isOne = isWanted(run, this.#wanted, "told");
    if (isOne) this.#runs.set(run.runId, run);
    else this.#runs.delete(run.runId);
    return isOne;
  }

  /** Reports runs that left the list between two streams, but not those beyond its limit. */
  async #reportGone(
    client: ServiceClient,
    before: ReadonlyMap<string, Run>,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#wanted.statuses.length === 0) return;
    for (const runId of before.keys()) {
      if (this.#runs.has(runId)) continue;
      const run = await client.run(runId, signal).catch(() => undefined);
      if (run !== undefined && !isWanted(run, this.#wanted, "listed")) this.#deps.onGone(run);
    }
  }

  #report(): void {
    const runs = newestFirst([...this.#runs.values()]).slice(0, this.#wanted.limit);
    this.#runs = new Map(runs.map((run) => [run.runId, run]));
    this.#deps.onRuns(runs, this.#me);
  }
}
