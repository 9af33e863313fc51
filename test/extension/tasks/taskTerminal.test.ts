import assert from "node:assert/strict";
import { type TaskSignals, TaskTerminal } from "../../../src/extension/tasks/taskTerminal.ts";
import { linesOf } from "./terminalText.ts";

/** A terminal whose task ends when the test says so. */
function opened(ended = new AbortController().signal) {
  const { promise, resolve: end } = Promise.withResolvers<number>();
  let written = "";
  const closed: number[] = [];
  let signals: TaskSignals | undefined;
  const terminal = new TaskTerminal((place) => {
    ({ signals } = place);
    place.screen.line("it begins");
    return promise.then((exitCode) => {
      place.screen.line("it ends");
      return exitCode;
    });
  }, ended);
  terminal.onDidWrite((text) => {
    written += text;
  });
  terminal.onDidClose((exitCode) => closed.push(Number(exitCode)));
  terminal.open();
  assert(signals !== undefined);
  return { terminal, end, closed, signals, lines: () => linesOf(written) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the terminal of a task", () => {
  it("begins the task when it is open, and closes with the task's exit code", async () => {
    const { end, closed, lines } = opened();
    assert.deepEqual(lines(), ["it begins"]);
    end(5);
    await turn();
    assert.deepEqual(closed, [5]);
    assert.deepEqual(lines(), ["it begins", "it ends"]);
  });

  it("interrupts at the first Ctrl-C, and leaves with 130 at the second", async () => {
    const { terminal, end, closed, signals, lines } = opened();
    terminal.handleInput("x\r\u0003");
    assert.deepEqual([signals.interrupted.aborted, signals.leaving.aborted], [true, false]);
    assert.deepEqual(closed, []);
    terminal.handleInput("\u0003");
    assert(signals.leaving.aborted);
    assert.deepEqual(closed, [130]);
    end(0);
    await turn();
    assert.deepEqual(closed, [130], "it closes once");
    assert.deepEqual(lines(), ["it begins"], "nothing is written to a closed terminal");
  });

  it("interrupts when it is closed, and when the extension ends", () => {
    const one = opened();
    one.terminal.close();
    assert(one.signals.interrupted.aborted && !one.signals.leaving.aborted);
    const ended = new AbortController();
    const other = opened(ended.signal);
    ended.abort();
    assert(other.signals.interrupted.aborted && !other.signals.leaving.aborted);
  });
});
