import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { RunDefinition } from "../contract/run.ts";
import { anySignal } from "../machine/anySignal.ts";
import { type Clock, systemClock } from "../machine/clock.ts";
import type { Log } from "../machine/log.ts";
import type { PipelineOrProblems } from "../pipeline/pipeline.ts";
import { codeOf } from "../project/systemErrors.ts";
import { OrgTurns } from "./admission/orgTurns.ts";

/** In milliseconds. A file of three thousand steps takes a tenth of a second. */
const timeLimit = 2_000;
/** The most memory that the thread takes for its objects. */
const heapMebibytes = 512;

interface ParserOptions {
  /** The program of `parserThread.ts`. */
  readonly threadPath: string;
  /** Ends the thread, and whatever waits for it. */
  readonly stopping: AbortSignal;
  readonly log: Log;
  readonly clock?: Pick<Clock, "after">;
}

/**
 * Parses the definitions of all orgs in a thread: a hostile one takes many seconds, in which the server would answer nobody and
 * lose its runs. Orgs take turns: one definition of each, and none takes longer than the time limit.
 */
export class DefinitionParser {
  readonly #options: ParserOptions;
  readonly #clock: Pick<Clock, "after">;
  readonly #turns: OrgTurns;
  #last: Promise<unknown> = Promise.resolve();
  #thread: Worker | undefined;

  constructor(options: ParserOptions) {
    const { stopping, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#turns = new OrgTurns(clock);
    stopping.addEventListener("abort", () => void this.#thread?.terminate(), { once: true });
  }

  /** @throws OrgBusyError when the org's earlier ones take too long; the reason of `stopping`. */
  parse(orgId: string, definition: RunDefinition): Promise<PipelineOrProblems> {
    return this.#turns.take(orgId, () => {
      const parsed = this.#last.then(() => this.#parse(orgId, definition));
      this.#last = parsed.catch(() => {});
      return parsed;
    });
  }

  async #parse(orgId: string, definition: RunDefinition): Promise<PipelineOrProblems> {
    const { stopping, log } = this.#options;
    stopping.throwIfAborted();
    this.#thread ??= await this.#start();
    const thread = this.#thread;
    const tooLong = new AbortController();
    const answered = once(thread, "message", { signal: anySignal([stopping, tooLong.signal]) });
    // After a suspension, timers fire before an answer is read that came in time.
    const cancelTimer = this.#clock.after(timeLimit, () => void setImmediate(() => tooLong.abort()));
    thread.postMessage(definition);
    try {
      const [answer] = await answered;
      return JSON.parse(answer);
    } catch (error) {
      await thread.terminate();
      stopping.throwIfAborted();
      if (!tooLong.signal.aborted && codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") throw error;
      log("warn", "a definition takes too much to be read", { orgId, error });
      const message = "the file, with its parts, takes too long to read: make several pipelines of it";
      return { kind: "invalid", problems: [{ message, line: 1, column: 1 }] };
    } finally {
      cancelTimer();
    }
  }

  async #start(): Promise<Worker> {
    const { threadPath, stopping } = this.#options;
    const thread = new Worker(threadPath, { resourceLimits: { maxOldGenerationSizeMb: heapMebibytes } });
    // Whoever waits for its answer gets the error.
    thread.on("error", () => {});
    thread.once("exit", () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    try {
      await once(thread, "message", { signal: stopping });
      return thread;
    } catch (error) {
      await thread.terminate();
      throw error;
    }
  }
}
