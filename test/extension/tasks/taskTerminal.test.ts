import assert from "node:assert/strict";
import { type TaskIo, taskTerminal } from "../../../src/extension/tasks/taskTerminal.ts";

/** A terminal whose task ends when the test says so. */
function opened(ended = new AbortController().signal) {
  const { promise, resolve: end } = Promise.withResolvers<number>();
  let written = "";
  const closed: number[] = [];
  let io: TaskIo | undefined;
  const terminal = taskTerminal((given) => {
    io = given;
    given.stream.write("it begins\n");
    return promise.then((exitCode) => {
      given.stream.write("it ends\n");
      return exitCode;
    });
  }, ended);
  terminal.onDidWrite((text) => {
    written += text;
  });
  terminal.onDidClose((exitCode) => closed.push(Number(exitCode)));
  terminal.open({ columns: 100, rows: 30 });
  assert(io !== undefined);
  return { terminal, end, closed, io, written: () => written };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the terminal of a task", () => {
  it("begins the task when it is open, and closes with the task's exit code", async () => {
    const { end, closed, written } = opened();
    assert.equal(written(), "it begins\r\n");
    end(5);
    await turn();
    assert.deepEqual(closed, [5]);
    assert.equal(written(), "it begins\r\nit ends\r\n");
  });

  it("has the size that the editor gives it", () => {
    const { terminal, io } = opened();
    assert.deepEqual([io.stream.isTTY, io.stream.columns, io.stream.rows], [true, 100, 30]);
    terminal.setDimensions({ columns: 40, rows: 10 });
    assert.deepEqual([io.stream.columns, io.stream.rows], [40, 10]);
  });

  it("interrupts at the first Ctrl-C, and leaves with 130 at the second", async () => {
    const { terminal, end, closed, io, written } = opened();
    terminal.handleInput("x\r\u0003");
    assert.deepEqual([io.interrupted.aborted, io.leaving.aborted], [true, false]);
    assert.deepEqual(closed, []);
    terminal.handleInput("\u0003");
    assert(io.leaving.aborted);
    assert.deepEqual(closed, [130]);
    end(0);
    await turn();
    assert.deepEqual(closed, [130], "it closes once");
    assert.equal(written(), "it begins\r\n", "nothing is written to a closed terminal");
  });

  it("interrupts when it is closed, and when the extension ends", () => {
    const one = opened();
    one.terminal.close();
    assert(one.io.interrupted.aborted && !one.io.leaving.aborted);
    const ended = new AbortController();
    const other = opened(ended.signal);
    ended.abort();
    assert(other.io.interrupted.aborted && !other.io.leaving.aborted);
  });
});
