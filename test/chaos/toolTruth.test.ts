import assert from "node:assert/strict";
import { checkTruth, type ToolEnd } from "./toolTruth.ts";

const row: ToolEnd["rows"][number] = { id: "run_1", pipeline: "shop", status: "succeeded", stopped_at: 1 };
const active = { ...row, status: "running", stopped_at: null };

function faultsOf(
  end: Partial<ToolEnd> & { readonly said?: unknown },
  { rows = [row], signals = [] as string[], isUsedUp = false, pipeline = "shop" } = {},
): string[] {
  const { said, ...others } = end;
  const stdout = said === undefined ? "" : JSON.stringify(said);
  const faults: string[] = [];
  checkTruth(
    {
      pipeline,
      signals: new Set(signals),
      end: { exitCode: 0, died: undefined, stdout, stderr: "", rows, ...others },
      rows,
      isUsedUp,
    },
    (holds, fault) => {
      if (!holds) faults.push(fault);
    },
  );
  return faults;
}

const runs = (status: string, id = "run_1") => [{ "run-id": id, status }];
const failed = (message: string) => ({ ok: false, command: "run", error: { type: "out-of-reach", message } });

describe("the truth of a tool's exit code and last words", () => {
  it("is what happened to its run", () => {
    assert.deepEqual(faultsOf({ said: { ok: true, command: "run", runs: runs("succeeded") } }), []);
    const lost = { ...row, status: "lost" };
    const said = { ok: false, command: "run", runs: runs("lost") };
    assert.deepEqual(faultsOf({ exitCode: 1, said }, { rows: [lost] }), []);
  });

  it("finds two runs of one call, and a stack", () => {
    const said = { ok: true, command: "run", runs: runs("succeeded") };
    const two = [row, { ...row, id: "run_2" }];
    assert.deepEqual(faultsOf({ said }, { rows: two }), ["one call has made two runs"]);
    const stderr = "Error: no\n    at main (file:///cli.js:1:2)";
    assert.deepEqual(faultsOf({ said, stderr }), ["a stack was shown"]);
  });

  it("finds a success, an end and a run that were made up", () => {
    const said = { ok: true, command: "run", runs: runs("succeeded") };
    assert.deepEqual(faultsOf({ said }, { rows: [] }), [
      "a run was told that is not there",
      "success was told of a run that is not there",
    ]);
    assert.deepEqual(faultsOf({ said }, { rows: [{ ...row, status: "lost" }] }), [
      "a run was told to have ended otherwise than it has",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 1, said: { ...said, ok: false } }), [
      "a failure was told of a run that has none",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 1, said }, { rows: [{ ...row, status: "succeeded" }] }), [
      "the object says otherwise than the exit code",
      "a failure was told of a run that has none",
    ]);
  });

  it("finds a run that a fault, a refusal or an interrupt has left untold", () => {
    assert.deepEqual(faultsOf({ exitCode: 4, said: failed("gone") }), [
      "a run was started that the tool doesn't tell of",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 4, said: failed("the run run_1 was started") }), []);
    assert.deepEqual(faultsOf({ exitCode: 4, said: failed("") }, { rows: [] }), [
      "a fault was told without words",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 5, said: failed("scope org") }), ["a refused call has made a run"]);
    assert.deepEqual(faultsOf({ exitCode: 5, said: failed("free-day") }, { rows: [] }), [
      "a refusal that no limit explains",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 5, said: failed("free-day") }, { rows: [], isUsedUp: true }), []);
    const interrupted = { exitCode: 130, said: failed("interrupted") };
    assert.deepEqual(faultsOf(interrupted, { rows: [active], signals: ["SIGINT"] }), [
      "an interrupted call has left a run active without a word",
    ]);
    assert.deepEqual(faultsOf(interrupted, { rows: [] }), ["interrupted by nobody"]);
  });

  it("finds silence, a death of a signal, and an exit code that is no contract's", () => {
    assert.deepEqual(faultsOf({}), ["no JSON object was printed"]);
    const died = { exitCode: undefined, died: "SIGTERM" } as const;
    const untimely = ["it died of a signal that it should have heard"];
    assert.deepEqual(faultsOf(died, { signals: ["SIGTERM"] }), untimely);
    assert.deepEqual(faultsOf(died, { rows: [] }), untimely);
    assert.deepEqual(faultsOf(died, { rows: [], signals: ["SIGTERM"] }), []);
    assert.deepEqual(faultsOf({ ...died, died: "SIGKILL" }), []);
    assert.deepEqual(faultsOf({ exitCode: 3, said: failed("no key") }, { rows: [] }), [
      "an exit code that nothing explains",
    ]);
    assert.deepEqual(faultsOf({ exitCode: 3, said: failed("no key") }, { rows: [], pipeline: "" }), [
      "an exit code that nothing explains",
    ]);
  });
});
