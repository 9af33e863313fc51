import assert from "node:assert/strict";
import { Program, runProgram } from "../../../scripts/process/program.ts";
import { isAlive } from "../../isAlive.ts";
import { until } from "../../until.ts";

/** Starts a child that never ends and ignores SIGTERM where there is one, and tells both process ids. */
const stubbornTree = `
  process.on("SIGTERM", () => {});
  const { spawn } = require("node:child_process");
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  setInterval(() => {}, 1000);
  console.log("pids", process.pid, child.pid);
`;
const quickTree = stubbornTree.replace('process.on("SIGTERM", () => {});', "");

describe("a program beside this one", () => {
  it("is gone with its descendants once it is stopped", async () => {
    const program = new Program(process.execPath, ["-e", quickTree]);
    const pids = await pidsOf(program);
    await program.stop();
    // They are told to end, and the system takes its time.
    await until(async () => !pids.some(isAlive));
  });

  it("is gone even when it ignores the request to end", async () => {
    const program = new Program(process.execPath, ["-e", stubbornTree]);
    const pids = await pidsOf(program);
    await program.stop();
    // They are told to end, and the system takes its time.
    await until(async () => !pids.some(isAlive));
  });

  it("tells its exit code and what it wrote", async () => {
    const { signal } = new AbortController();
    const script = 'console.log("out"); console.error("err"); process.exit(7)';
    const { exitCode, output } = await runProgram(process.execPath, ["-e", script], {}, signal);
    assert.equal(exitCode, 7);
    assert.match(output, /out/);
    assert.match(output, /err/);
  });

  it("fails clearly when there is no such program", async () => {
    const { signal } = new AbortController();
    const { exitCode, output } = await runProgram("no-such-program-here", [], {}, signal);
    assert.notEqual(exitCode, 0);
    assert.match(output, /no-such-program-here/);
  });

  it("is stopped by an abort, whose reason is thrown", async () => {
    const controller = new AbortController();
    const running = runProgram(process.execPath, ["-e", quickTree], {}, controller.signal);
    controller.abort(new Error("enough"));
    await assert.rejects(running, /enough/);
  });
});

async function pidsOf(program: Program): Promise<number[]> {
  const match = await program.outputMatching(/pids (\d+) (\d+)/, new AbortController().signal);
  assert.ok(match, program.output);
  return numbersIn(match[0]);
}

function numbersIn(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}
