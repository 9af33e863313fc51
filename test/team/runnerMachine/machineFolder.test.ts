import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { machineFolder } from "../../../src/team/runnerMachine/machineFolder.ts";
import { isAlive } from "../../isAlive.ts";
import { startedRunner } from "../../service/startedProgram.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { protocolServer } from "./protocolServer.ts";

describe("the folder of a runner's machine", () => {
  if (process.platform === "win32") return;
  const parent = temporaryFolder();

  it("goes when another runner starts and its own was killed, and not before", async () => {
    const births = new Map([
      [101, "one"],
      [102, "two"],
    ]);
    const processes = {
      canTerminate: true,
      processesOf: async () => [],
      birthOf: async (pid: number) => births.get(pid),
    };
    const deps = { processes, graceMilliseconds: 0, log: () => {}, parent: parent.path };
    const make = (pid: number) => machineFolder({ ...deps, pid });
    const first = await make(101);
    await mkdir(join(first, "run_left"));
    const second = await make(102);
    // The first is dead, and another process has its id; the second is alive.
    births.set(101, "three").set(103, "four");
    const elsewhere = join(parent.path, "pipeline-runner-elsewhere");
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, "owner"), `not-${hostname()} 101 one`);
    const unfinished = join(parent.path, "pipeline-runner-unfinished");
    await mkdir(unfinished);
    const third = await make(103);
    assert.deepEqual([first, second, third, elsewhere, unfinished].map(existsSync), [
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  it("goes once what is left of its runs is ended, where a runner and its run's process were killed", async () => {
    await using service = await protocolServer();
    const options = { temporary: parent.path };
    const file = join(parent.path, "pids");
    service.offer("run_left", `trap '' TERM; echo $PPID $$ > ${file}; while :; do sleep 1; done`);
    const killed = await startedRunner(service.url, "key", options);
    await until(async () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
    const [work = 0, step = 0] = readFileSync(file, "utf8").trim().split(" ").map(Number);
    // Stopped first, since it ends its run when its runner is gone.
    process.kill(work, "SIGSTOP");
    killed.kill("SIGKILL");
    await killed.exited;
    process.kill(work, "SIGKILL");
    await until(async () => !isAlive(work));
    assert.ok(isAlive(step));
    using _ = { [Symbol.dispose]: () => isAlive(step) && process.kill(-step, "SIGKILL") };
    const folders = async () =>
      (await readdir(parent.path)).filter((name) => name.startsWith("pipeline-runner-"));
    const [left] = await folders();
    await using _next = await startedRunner(service.url, "key", options);
    await until(async () => !(await folders()).includes(left ?? ""));
    assert.equal(isAlive(step), false);
  });
});
