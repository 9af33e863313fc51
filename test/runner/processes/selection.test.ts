import assert from "node:assert/strict";
import { parseStat } from "../../../src/runner/processes/linuxProcesses.ts";
import { selectFromPs } from "../../../src/runner/processes/posixProcesses.ts";
import { newTraces, type RunTraces } from "../../../src/runner/processes/processTable.ts";
import { selectFromWindows } from "../../../src/runner/processes/windowsProcesses.ts";

function traces(runnerPid: number | undefined, ...groups: readonly number[]): RunTraces {
  return { ...newTraces("run_a", runnerPid), groups: new Set(groups) };
}

describe("finding a run's processes", () => {
  it("on Linux reads the parent of a program whose name is full of spaces and parentheses", () => {
    const stat = "42 (a) b) (c) S 7 41 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5105 1 2\n";
    assert.deepEqual(parseStat(stat), { state: "S", parent: 7, group: 41, session: 40, ticks: 5105 });
    assert.equal(parseStat(undefined), undefined);
  });

  describe("in what ps writes", () => {
    const text = `
    1     0     1 Fri Nov 20 08:00:01 2026     Ss   /sbin/launchd
  100     1   100 Fri Nov 20 23:13:05 2026     Ss   node runner.js run_a PIPELINE_RUN_ID=run_a
  101   100   101 Fri Nov 20 23:13:06 2026     S    /bin/sh -e -c x
  102     1   101 Fri Nov 20 23:13:06 2026     S    sleep 100
  103     1   103 Fri Nov 20 23:13:07 2026     Ss   server HOME=/x PIPELINE_RUN_ID=run_a LANG=C
  104   103   104 Fri Nov 20 23:13:07 2026     S    worker
  105     1   105 Fri Nov 20 23:13:07 2026     S    server PIPELINE_RUN_ID=run_ab
  106   100   106 Fri Nov  6 23:13:07 2026     Z    (sh)
  107     1   107 Fri Nov 20 23:13:08 2026     S    grep PIPELINE_RUN_ID=run_a.*
  108     1   108 Fri Nov 20 23:13:09 2026     S    was seen`;

    it("goes by marker, group and parent, and leaves out the dead", () => {
      const found = selectFromPs(text, traces(100, 100, 101));
      assert.deepEqual(found.toSorted(), [100, 101, 102, 103, 104]);
    });

    it("goes by what was seen before, with its birth, and remembers what it finds", () => {
      const run = traces(undefined);
      run.seen.set(108, "Fri Nov 20 23:13:08 2026");
      run.seen.set(105, "Fri Nov 20 21:00:00 2026");
      run.seen.set(101, "Fri Nov 20 23:13:06 2026");
      assert.deepEqual(selectFromPs(text, run).toSorted(), [100, 101, 103, 104, 108]);
      assert.deepEqual([...run.seen.keys()].toSorted(), [100, 101, 103, 104, 108]);
    });

    it("forgets a group that is empty, and keeps one whose only member is dead but not reaped", () => {
      const run = traces(undefined, 101, 106, 110);
      selectFromPs(text, run);
      assert.deepEqual([...run.groups], [101, 106]);
    });
  });

  describe("on Windows", () => {
    /** As the query writes it: ids, then 100 ns since 1601. */
    const list = (...lines: readonly string[]) => `${lines.join("\r\n")}\r\n`;
    const system = "4 0 0 System";

    it("goes from parent to child, also when the runner itself is gone", () => {
      const text = list(
        system,
        "200 4 5 explorer.exe",
        "201 100 20 sh.exe",
        "202 201 30 a b.exe",
        "203 200 9 x",
      );
      assert.deepEqual(selectFromWindows(text, traces(100), undefined), [201, 202]);
      assert.deepEqual(selectFromWindows(text, traces(undefined), undefined), []);
    });

    it("takes nobody for a child who is older than the parent, since the id was another's before", () => {
      const run = traces(100);
      run.seen.set(100, "50");
      const text = list(system, "100 4 50 node.exe", "201 100 40 stranger.exe", "202 100 60 ours.exe");
      assert.deepEqual(selectFromWindows(text, run, undefined), [100, 202]);
    });

    it("takes nobody for a child of the runner's who is the child of a later process of the same id", () => {
      const run = traces(undefined);
      run.seen.set(100, "50");
      const text = list(system, "100 4 70 stranger.exe", "201 100 60 ours.exe", "202 100 80 stranger.exe");
      assert.deepEqual(selectFromWindows(text, run, undefined), [201]);
    });

    it("finds what a program left that it had found before, also when that has ended", () => {
      const run = traces(100);
      selectFromWindows(list(system, "100 4 50 node.exe", "201 100 60 sh.exe"), run, undefined);
      const later = list(system, "100 4 50 node.exe", "300 201 70 server.exe");
      assert.deepEqual(selectFromWindows(later, run, undefined), [100, 300]);
    });

    it("leaves out who wrote the list, and the consoles that Windows itself gives and takes", () => {
      const text = list(
        system,
        "100 4 50 node.exe",
        "101 100 51 conhost.exe",
        "102 100 60 powershell.exe",
        "103 102 61 conhost.exe",
      );
      assert.deepEqual(selectFromWindows(text, traces(100), 102), [100]);
    });

    it("finds the parent before its children, so that it starts no more of them", () => {
      const text = list(system, "301 300 70 c.exe", "300 100 60 b.exe", "100 4 50 a.exe");
      assert.deepEqual(selectFromWindows(text, traces(100), undefined), [100, 300, 301]);
    });
  });
});
