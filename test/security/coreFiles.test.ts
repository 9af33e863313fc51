import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { toolbox } from "../cli/toolbox.ts";
import { itOn } from "../itOn.ts";
import { until } from "../until.ts";

describe("a crash of the embedded service, or of what it runs", () => {
  if (spawnSync("prlimit", ["--version"]).status !== 0) return;

  itOn("linux", "leaves no core file, which would hold the environments of starts", async () => {
    await using tool = await toolbox();
    await tool.write(
      "limits",
      "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: cat /proc/self/limits }]\n",
    );
    await tool.run(["run", "limits"]);
    const pid = (await readConnection(tool.data))?.pid;
    await until(async () => hasNoCoreFile(await readFile(`/proc/${pid}/limits`, "utf8")));
    // The process for the next run has begun already, and the one behind it hasn't.
    await tool.run(["run", "limits"]);
    const { stdout, stderr } = await tool.run(["run", "limits", "--log"]);
    assert.ok(hasNoCoreFile(stdout + stderr), stdout + stderr);
  });
});

/** With 1 byte, which a machine that allows none at all turns down. */
function hasNoCoreFile(limits: string): boolean {
  return /Max core file size +(?:1 |0 +0 )/.test(limits);
}
