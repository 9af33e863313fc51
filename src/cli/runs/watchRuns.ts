import { watchRuns as followRuns, type WatchRunsDeps } from "../../client/follow/watchRuns.ts";
import { exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Output } from "../output/output.ts";
import type { Tool } from "../tool.ts";
import { type AskedRuns, runLines, runTable, withMe } from "./listRuns.ts";

/**
 * `pipeline runs list --watch`: shows the list live until Ctrl-C. On a terminal the list is redrawn; elsewhere each change of a
 * run is a line, or with `--json` an object.
 * @throws as the client's `watchRuns`; PipelineError `usage` with `--after`.
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
