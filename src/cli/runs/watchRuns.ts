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
  const display = isDrawn ? drawnRuns(output, client.clock) : printedRuns(output);
  try {
    await Promise.race([
      followRuns(client, wanted, { ...display, reconnect: () => tool.connect() }, ends),
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
  /** Leaves the last state on the terminal. */
  end(): void;
}

/** A table that is redrawn at each change, and every second for its relative times. */
function drawnRuns(output: Output, clock: Clock): Display {
  const { out, err } = output;
  let seen: readonly Run[] = [];
  let me = "";
  let fault: string | undefined;
  const tableOf = (columns: number) => runTable(seen, out, { me, now: clock.now(), columns });
  const draw = (): void => {
    const foot =
      fault === undefined
        ? err.style.dim("live; Ctrl-C ends")
        : err.style.caution(`not live: ${fault} Trying again.`);
    // A line that fills the terminal would wrap before it is drawn over.
    const lines = seen.length === 0 ? ["No run is like that now."] : tableOf(err.columns - 1).split("\n");
    output.passing(...lines, foot);
  };
  return {
    onRuns(runs, actor) {
      seen = runs;
      me = actor;
      fault = undefined;
      draw();
    },
    onGone() {},
    onBroken({ message }) {
      fault = message;
      draw();
    },
    async keepFresh(signal) {
      for (;;) {
        await clock.sleep(1000, signal);
        draw();
      }
    },
    end() {
      output.release();
      output.text(tableOf(out.columns));
    },
  };
}

/** Prints a line, or an object, for each run at first and at each change; the oldest first. */
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
    keepFresh: () => new Promise(() => {}),
    end() {},
  };
}
