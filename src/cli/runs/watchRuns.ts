import { type ServiceEvent, watchEvents } from "../../client/follow/events.ts";
import { isWanted, listRuns, newestFirst, type WantedRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { mayComeBack, type Reconnect } from "../../client/service/failedRequest.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type Clock, repeat } from "../../machine/clock.ts";
import type { Output } from "../output/output.ts";
import type { Tool } from "../tool.ts";
import { type AskedRuns, runLines, runTable, withMe } from "./listRuns.ts";

/**
 * `pipeline runs list --watch`: shows the list live until Ctrl-C. On a terminal the list is redrawn; elsewhere each change of a
 * run is a line, or with `--json` an object.
 * @throws as {@link followRuns}; PipelineError `usage` with `--after`.
 */
export async function watchRuns(tool: Tool, asked: AskedRuns): Promise<number> {
  if (asked.after !== undefined) {
    throw new PipelineError("usage", "--watch shows the newest runs, so it takes no --after.");
  }
  const { output, interrupted, unread } = tool;
  const client = await tool.connect();
  const wanted = await withMe(client, asked, interrupted);
  const ends = anySignal([interrupted, unread]);
  const isDrawn = output.out.isTerminal && output.err.isLive && !output.json;
  const display = isDrawn ? drawnRuns(output, client.clock) : printedRuns(output);
  try {
    await followRuns(client, wanted, { ...display, reconnect: () => tool.connect() }, ends);
  } catch (error) {
    if (!ends.aborted) throw error;
  } finally {
    await display.stop();
  }
  display.end();
  return interrupted.aborted ? exitCodes.interrupted : exitCodes.done;
}

interface Display extends Omit<WatchRunsDeps, "reconnect"> {
  /** Ends the drawing. */
  stop(): Promise<void>;
  /** Leaves the last state on the terminal. */
  end(): void;
}

/** A table that is redrawn at each change, and every second for its relative times. */
function drawnRuns(output: Output, clock: Clock): Display {
  const { out, err } = output;
  let seen: readonly Run[] | undefined;
  let me = "";
  let fault: string | undefined;
  const tableOf = (runs: readonly Run[], columns: number) =>
    runTable(runs, out, { me, now: clock.now(), columns });
  const draw = async (): Promise<void> => {
    if (seen === undefined) return;
    const foot =
      fault === undefined
        ? err.style.dim("live; Ctrl-C ends")
        : err.style.caution(`not live: ${fault} Trying again.`);
    // One column narrower: a line that fills the terminal would wrap before it is redrawn.
    const lines =
      seen.length === 0 ? ["No run is like that now."] : tableOf(seen, err.columns - 1).split("\n");
    output.passing(...lines, foot);
  };
  const drawing = repeat(clock, 1000, draw);
  return {
    onRuns(runs, actor) {
      seen = runs;
      me = actor;
      fault = undefined;
      drawing.soon();
    },
    onGone() {},
    onBroken({ message }) {
      fault = message;
      drawing.soon();
    },
    stop: drawing.stop,
    end() {
      output.release();
      output.text(tableOf(seen ?? [], out.columns));
    },
  };
}

/** Prints each run at first and at each change, as a line or an object, oldest first. */
function printedRuns(output: Output): Display {
  const printed = new Map<string, string>();
  const print = (run: Run): void => {
    const line = runLines([run]);
    if (printed.get(run.runId) === line) return;
    printed.set(run.runId, line);
    output.result("runs list", { runs: [run] }, line);
  };
  return {
    onRuns: (runs) => runs.toReversed().forEach(print),
    onGone: print,
    onBroken: ({ message }) => output.note(`pipeline: ${message} Trying again.`),
    async stop() {},
    end() {},
  };
}

export interface WatchRunsDeps {
  readonly reconnect: Reconnect;
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
export async function followRuns(
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
