import assert from "node:assert/strict";
import { join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { toolbox } from "../../cli/toolbox.ts";
import { endProcess } from "../../endProcessesOf.ts";
import { isAlive } from "../../isAlive.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../../service/startedService.ts";

interface ToldRun {
  readonly "run-id": string;
  readonly status: string;
}

describe("the service that a tool starts", () => {
  it("is one, however many tools start at the same time", async () => {
    await using tool = await toolbox();
    const ends = await Promise.all(Array.from({ length: 6 }, () => tool.run(["org", "--json"])));
    for (const { exitCode, stderr } of ends) assert.equal(exitCode, 0, stderr);
    assert.equal(new Set(ends.map(({ stdout }) => JSON.parse(stdout)["org-id"])).size, 1);
  });

  it("is started anew after a kill -9: the run is lost, its processes are gone, its slot is free", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const pid = await writtenPid(join(tool.project, "pid"));
    const connection = await readConnection(tool.data);
    await endProcess(connection?.pid ?? 0, "SIGKILL");
    assert.equal((await tool.run(["run", "hello"])).exitCode, 0);
    assert(!isAlive(pid));
    const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout) as { runs: ToldRun[] };
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["succeeded", "lost"],
    );
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 2);
  });
});
