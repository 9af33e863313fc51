import { watchRuns as followRuns, type WatchRunsDeps } from "../../client/follow/watchRuns.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Output } from "../output/output.ts";
import type { Tool } from "../tool.ts";
import { type AskedRuns, runLines, runTable, withMe } from "./listRuns.ts";

/**
 * `pipeline runs list --watch`: shows the list live until Ctrl-C. On a terminal it is redrawn; elsewhere each change of a run
 * is a line, with `--json` an object.
 * @throws as `watchRuns` of the client; PipelineError `usage` together with `--after`.
 */
export async function watchRuns(tool: Tool, asked: AskedRuns): Promise<number> {
  if (asked.after !== undefined) {
    throw new PipelineError("usage", "--watch shows the newest runs, so it takes no --after.");
  }
  const { output, interrupted, unread } = tool;
  const client = await tool.connect();
  const wanted = await withMe(client, asked, interrupted);
  // Ends the other of the two promises, whose timer would keep the process alive and go on drawing.
  const over = new AbortController();
  const ends = anySignal([interrupted, unread, over.signal]);
  const isDrawn = output.out.isTerminal && output.err.isLive && !output.json;
  const display = isDrawn ? new DrawnRuns(output, client.clock) : new PrintedRuns(output);
  try {
    await Promise.race([
      followRuns(client, wanted, { ...handlers(display), reconnect: () => tool.connect() }, ends),
      display.keepFresh(ends),
    ]);
  } catch (error) {
    if (!ends.aborted) throw error;
  } finally {
    over.abort();
  }
  display.end();
  return interrupted.aborted ? exitCodes.interrupted : exitCodes.done;
}

interface Display extends Omit<WatchRunsDeps, "reconnect"> {
  /** Never resolves; rejects with the signal's reason. */
  keepFresh(signal: AbortSignal): Promise<never>;
  end(): void;
}

function handlers({ onRuns, onGone, onBroken }: Display): Omit<WatchRunsDeps, "reconnect"> {
  return { onRuns, onGone, onBroken };
}

/** A table that is redrawn at each change, and every second for its relative times. */
class DrawnRuns implements Display {
  readonly #output: Output;
  readonly #clock: Clock;
  #runs: readonly Run[] = [];
  #me = "";
  #fault: string | undefined;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  readonly onRuns = (runs: readonly Run[], me: string): void => {
    this.#runs = runs;
    this.#me = me;
    this.#fault = undefined;
    this.#draw();
  };

  readonly onGone = (): void => {};

  readonly onBroken = ({ message }: PipelineError): void => {
    this.#fault = message;
    this.#draw();
  };

  async keepFresh(signal: AbortSignal): Promise<never> {
    for (;;) {
      await this.#clock.sleep(1000, signal);
      this.#draw();
    }
  }

  /** Leaves the last table on the terminal. */
  end(): void {
    this.#output.release();
    this.#output.text(this.#table(this.#output.out.columns));
  }

  #draw(): void {
    const { style } = this.#output.err;
    const foot =
      this.#fault === undefined
        ? style.dim("live; Ctrl-C ends")
        : style.caution(`not live: ${this.#fault} Trying again.`);
    const none = this.#runs.length === 0 ? ["No run is like that now."] : [];
    // A line that fills the terminal would wrap before it is drawn over.
    const width = this.#output.err.columns - 1;
    const lines = this.#runs.length === 0 ? none : this.#table(width).split("\n");
    this.#output.passing(...lines, foot);
  }

  #table(columns: number): string {
    return runTable(this.#runs, this.#output.out, { me: this.#me, now: this.#clock.now(), columns });
  }
}

/** Prints a line, or an object, for each run at first and at each change; the oldest first. */
class PrintedRuns implements Display {
  readonly #output: Output;
  readonly #printed = new Map<string, string>();

  constructor(output: Output) {
    this.#output = output;
  }

  readonly onRuns = (runs: readonly Run[]): void => {
    for (const run of runs.toReversed()) this.#print(run);
  };

  readonly onGone = (run: Run): void => this.#print(run);

  readonly onBroken = ({ message }: PipelineError): void => {
    this.#output.note(`pipeline: ${message} Trying again.`);
  };

  keepFresh(): Promise<never> {
    return new Promise(() => {});
  }

  end(): void {}

  #print(run: Run): void {
    const line = runLines([run]);
    if (this.#printed.get(run.runId) === line) return;
    this.#printed.set(run.runId, line);
    this.#output.result("runs list", { runs: [run] }, line);
  }
}
