import assert from "node:assert/strict";
import { join } from "node:path";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { toolbox, written } from "../../cli/toolbox.ts";
import { endProcess } from "../../endProcessesOf.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../../service/startedService.ts";

type Toolbox = Awaited<ReturnType<typeof toolbox>>;

/** Kills this machine's service, and has another call of the tool start it again. */
async function beginAnew(tool: Toolbox): Promise<void> {
  const before = await readConnection(tool.data);
  assert(before !== undefined);
  await endProcess(before.pid, "SIGKILL");
  await tool.call(["org"]);
  const after = await readConnection(tool.data);
  assert(after !== undefined && after.instance !== before.instance);
}

describe("this machine's service, killed and started again by another call of the tool", () => {
  itOn("posix", "while a run is waited for: the wait goes on, and ends with its run", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.call(["run", "long", "--detach"]);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /gives up in 120 s/);
    await beginAnew(tool);
    const { exitCode, stdout, stderr } = await waiting;
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^run_\w+ hello succeeded$/);
    const { runs } = JSON.parse((await tool.call(["runs", "list", "--json"])).stdout);
    assert.deepEqual(
      runs.map(({ pipeline, status }: { pipeline: string; status: string }) => `${pipeline} ${status}`),
      ["hello succeeded", "long lost"],
    );
  });

  for (const log of [[], ["--log"]]) {
    itOn("posix", ["while a run is followed", ...log, "tells how it ended"].join(" "), async () => {
      await using tool = await toolbox();
      await tool.write("long", programPipeline(`console.log("hello"); ${writePid} ${untilCancelled}`));
      const following = tool.spawn(["run", "long", ...log]);
      // Listened for from the start: the line may come before the pid is read.
      const printed = log.length === 0 ? undefined : written(following.stdout, /^hello$/m);
      await Promise.all([writtenPid(join(tool.project, "pid")), printed]);
      await beginAnew(tool);
      const { exitCode, stdout, stderr } = await following;
      assert.equal(exitCode, 1, stderr);
      assert.match(stdout, /^run_\w+ long lost$/m);
      assert.match(stderr, /^pipeline: long lost: /m);
      assert.doesNotMatch(stderr, /can't be read/);
    });
  }

  itOn("posix", "while a run is followed, after which Ctrl-C still ends the tool in order", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    const following = tool.spawn(["run", "long"]);
    await writtenPid(join(tool.project, "pid"));
    const connection = await readConnection(tool.data);
    assert(connection !== undefined);
    await endProcess(connection.pid, "SIGKILL");
    following.kill("SIGINT");
    const { exitCode, stderr } = await following;
    assert.equal(exitCode, 130, stderr);
    assert.match(stderr, /^pipeline: interrupted: long (lost|cancelled) \(run_\w+\)\.$/m);
  });
});
