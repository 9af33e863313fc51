import assert from "node:assert/strict";
import { parseStat } from "../../../../src/service/runner/processes/linuxProcesses.ts";
import { selectFromPs } from "../../../../src/service/runner/processes/posixProcesses.ts";
import { newTraces, type RunTraces } from "../../../../src/service/runner/processes/runTraces.ts";
import { selectFromWindows } from "../../../../src/service/runner/processes/windowsProcesses.ts";

function traces(runnerPid: number | undefined, ...groups: readonly number[]): RunTraces {
  return { ...newTraces("run_a", runnerPid), groups: new Set(groups) };
}

describe("finding a run's processes", () => {
  it("on Linux reads the parent of a program whose name is full of spaces and parentheses", () => {
    const stat = "42 (a) b) (c) S 7 41 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5105 1 2\n";
    assert.deepEqual(parseStat(stat), { state: "S", parent: 7, group: 41, session: 40, birth: "5105" });
    assert.equal(parseStat(undefined), undefined);
  });

  it("in what ps writes goes by marker, group and parent, and leaves out the dead", () => {
    const text = `
    1     0     1 Ss   /sbin/launchd
  100     1   100 Ss   node runner.js run_a PIPELINE_RUN_ID=run_a
  101   100   101 S    /bin/sh -e -c x
  102     1   101 S    sleep 100
  103     1   103 Ss   server HOME=/x PIPELINE_RUN_ID=run_a LANG=C
  104   103   104 S    worker
  105     1   105 S    server PIPELINE_RUN_ID=run_ab
  106   100   106 Z    (sh)
  107     1   107 S    grep PIPELINE_RUN_ID=run_a.*`;
    const found = selectFromPs(text, traces(100, 101));
    assert.deepEqual(found.toSorted(), [100, 101, 102, 103, 104]);
  });

  it("on Windows goes from parent to child, also when the runner itself is gone", () => {
    const text = "4 0\r\n200 4\r\n201 100\r\n202 201\r\n203 200\r\n";
    assert.deepEqual(selectFromWindows(text, traces(100)), [201, 202]);
    assert.deepEqual(selectFromWindows(text, traces(undefined)), []);
  });
});
