import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { machineFolder } from "../../../../src/service/runner/machine/machineFolder.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

describe("the folder of a runner's machine", () => {
  if (process.platform === "win32") return;
  const parent = temporaryFolder();

  it("goes when another runner starts and its own was killed, and not before", async () => {
    const births = new Map([
      [101, "one"],
      [102, "two"],
    ]);
    const processes = { birthOf: async (pid: number) => births.get(pid) };
    const make = (pid: number) => machineFolder({ processes, parent: parent.path, pid });
    const first = await make(101);
    await mkdir(join(first, "run_1"));
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
});
