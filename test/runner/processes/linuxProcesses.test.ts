import assert from "node:assert/strict";
import fs from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { LinuxProcesses } from "../../../src/runner/processes/linuxProcesses.ts";
import { newTraces } from "../../../src/runner/processes/processTable.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

interface AccessibleElement {
  readonly parent?: number;
  readonly group?: number;
  readonly session?: number;
  readonly birth?: number;
  readonly state?: string;
  /** Undefined where the system doesn't show it. */
  readonly environment?: string | undefined;
  /** The soft limit on file locks. */
  readonly locks?: string;
}

/** A `/proc` of a test's own. A process is its own group's and session's first unless it is told otherwise. */
class Proc {
  readonly processes: LinuxProcesses;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.processes = new LinuxProcesses(folder);
  }

  async has(pid: number, told: AccessibleElement = {}): Promise<void> {
    const { parent = 1, group = pid, session = pid, birth = 100, state = "S", locks = "unlimited" } = told;
    const between = Array.from({ length: 15 }, () => 0).join(" ");
    await mkdir(join(this.#folder, String(pid)), { recursive: true });
    await writeFile(
      join(this.#folder, String(pid), "stat"),
      `${pid} (a b) ${state} ${parent} ${group} ${session} ${between} ${birth} 0 0\n`,
    );
    const { environment } = { environment: "", ...told };
    if (environment !== undefined) await writeFile(join(this.#folder, String(pid), "environ"), environment);
    await writeFile(
      join(this.#folder, String(pid), "limits"),
      `Limit                     Soft Limit           Hard Limit           Units     \nMax file locks            ${locks.padEnd(20)} unlimited            locks     \n`,
    );
  }

  /** Whenever the processes have been listed, before one of them is read, it is gone and has left a child, up to the id `last`. */
  flees(first: number, last: number): Disposable {
    const { readdirSync } = fs;
    let pid = first;
    const path = () => join(this.#folder, String(pid));
    fs.readdirSync = ((folder: string) => {
      const names = readdirSync(folder);
      const from = path();
      pid = Math.min(pid + 1, last);
      fs.renameSync(from, path());
      return names;
    }) as typeof readdirSync;
    syncBuiltinESMExports();
    return {
      [Symbol.dispose]: () => {
        fs.readdirSync = readdirSync;
        syncBuiltinESMExports();
      },
    };
  }

  async lost(pid: number): Promise<void> {
    await rm(join(this.#folder, String(pid)), { recursive: true });
  }
}

describe("the processes of a run on Linux", () => {
  const folder = temporaryFolder();

  async function step(): Promise<{ proc: Proc; run: ReturnType<typeof newTraces> }> {
    const proc = new Proc(folder.path);
    await proc.has(1);
    await proc.has(50, { environment: "A=1\0PIPELINE_RUN_ID=run_other\0" });
    const run = newTraces("run_a", undefined);
    run.groups.add(200);
    return { proc, run };
  }

  it("are found by group and session when they cleared their environment", async () => {
    const { proc, run } = await step();
    await proc.has(201, { group: 200, session: 200 });
    await proc.has(202, { group: 202, session: 200 });
    await proc.has(203, { group: 203, session: 203 });
    assert.deepEqual(await proc.processes.processesOf(run), [201, 202]);
    assert.deepEqual([...run.groups], [200]);
  });

  it("are found by the marker wherever they went", async () => {
    const { proc, run } = await step();
    await proc.has(300, { environment: "A=1\0PIPELINE_RUN_ID=run_a\0" });
    await proc.has(301, { parent: 300 });
    assert.deepEqual(await proc.processes.processesOf(run), [300, 301]);
  });

  it("are found when they start others and exit while the list is read", async () => {
    const { proc, run } = await step();
    await proc.has(300, { environment: "PIPELINE_RUN_ID=run_a\0" });
    using _fleeing = proc.flees(300, 304);
    assert.deepEqual(await proc.processes.processesOf(run), [304]);
  });

  it("are looked for in bounded time where others start all the time", async () => {
    const { proc, run } = await step();
    await proc.has(300);
    using _fleeing = proc.flees(300, Number.POSITIVE_INFINITY);
    assert.deepEqual(await proc.processes.processesOf(run), []);
  });

  it("are looked for only among those that are no older than the runner, where that is known", async () => {
    const { proc, run } = await step();
    const environment = "PIPELINE_RUN_ID=run_a\0";
    await proc.has(299, { environment, birth: 99 });
    await proc.has(300, { environment, birth: 100 });
    await proc.has(301, { environment, birth: 1000 });
    const found = (runnerBirth: string | undefined) =>
      proc.processes.processesOf({ ...run, runnerBirth, seen: new Map() });
    assert.deepEqual(await found("100"), [300, 301]);
    assert.deepEqual(await found(undefined), [299, 300, 301]);
  });

  it("are found by their limit on locks when they hide their environment", async () => {
    const { proc, run } = await step();
    await proc.has(300, { environment: undefined, locks: "151668334" });
    await proc.has(301, { environment: undefined });
    assert.deepEqual(await proc.processes.processesOf(run), [300]);
  });

  it("go without that limit where the PATH has no program that sets it, and names a file", async () => {
    const { PATH = "" } = process.env;
    process.env["PATH"] = process.execPath;
    try {
      await new LinuxProcesses("/proc").mark("run_a");
    } finally {
      process.env["PATH"] = PATH;
    }
  });

  it("are found after they cut every tie when a glance has seen them before", async () => {
    const { proc, run } = await step();
    await proc.has(200);
    await proc.has(201, { parent: 200 });
    proc.processes.scan(run);
    await proc.lost(200);
    await proc.has(201, { parent: 1 });
    proc.processes.scan(run);
    assert.deepEqual(await proc.processes.processesOf(run), [201]);
    assert.deepEqual([...run.groups], [], "the group is empty");
  });

  it("are not one that was given the id of a process that was seen", async () => {
    const { proc, run } = await step();
    await proc.has(200);
    await proc.has(201, { parent: 200, birth: 100 });
    proc.processes.scan(run);
    await proc.lost(200);
    await proc.has(201, { parent: 1, birth: 107 });
    assert.deepEqual(await proc.processes.processesOf(run), []);
  });

  it("are not one that was given the id of a group that was empty before", async () => {
    const { proc, run } = await step();
    await proc.has(200);
    proc.processes.scan(run);
    await proc.lost(200);
    proc.processes.scan(run);
    await proc.has(200, { birth: 500 });
    await proc.has(205, { group: 200, session: 200, birth: 501 });
    assert.deepEqual(await proc.processes.processesOf(run), []);
  });

  it("leave their group's id taken while one is dead and not yet reaped", async () => {
    const { proc, run } = await step();
    await proc.has(200, { state: "Z" });
    assert.deepEqual(await proc.processes.processesOf(run), []);
    assert.deepEqual([...run.groups], [200]);
  });

  it("cost no look while there are none", () => {
    const nowhere = new LinuxProcesses(join(folder.path, "none"));
    nowhere.scan(newTraces("run_a", undefined));
  });
});
