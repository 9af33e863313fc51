import assert from "node:assert/strict";
import type { ProcessTable } from "../../src/runner/processes/processTable.ts";
import { processTable } from "../../src/runner/processes/systemProcesses.ts";
import { isAlive } from "../isAlive.ts";
import { itOn } from "../itOn.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { holdBeacon, makeBeacon } from "./beacon.ts";
import { type LaunchChanges, launchTestRun, shellPipeline } from "./launch/launchTestRun.ts";

describe("a run whose processes can't be listed for a moment", () => {
  const folder = temporaryFolder();

  /** Kills the runner of a run whose step would go on, and sees that the run ends only with its step. */
  async function endsWithItsStep(deps: LaunchChanges): Promise<void> {
    const beacon = makeBeacon(folder.path);
    const script = `${holdBeacon(beacon)}\nexec sleep 1000`;
    const { job } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 50, ...deps });
    const [pid = 0] = await beacon.pids(1);
    await job.identity;
    process.kill(job.pid ?? 0, "SIGKILL");
    assert.deepEqual(await job.ended, {
      kind: "died",
      message: "the runner was ended by SIGKILL before the run was over",
    });
    assert.equal(isAlive(pid), false);
    await beacon.dark;
  }

  itOn("posix", "hasn't ended while one of them lives, however long that moment is", async () => {
    const { processes, lists } = failingAtFirst(3);
    // No patience at all: it goes on asking because the system has told of its runner.
    await endsWithItsStep({ processes, listingPatienceMilliseconds: 0 });
    assert.deepEqual(lists.slice(0, 4), ["failed", "failed", "failed", "told"]);
  });

  itOn(
    "posix",
    "hasn't ended while one of them lives, where nothing was told of its runner either",
    async () => {
      const { processes, lists } = failingAtFirst(3);
      await endsWithItsStep({ processes: { ...processes, birthOf: noFile } });
      assert.deepEqual(lists.slice(0, 4), ["failed", "failed", "failed", "told"]);
    },
  );
});

/** This system's processes, which can't be listed the first few times. */
function failingAtFirst(times: number): { processes: ProcessTable; lists: ("failed" | "told")[] } {
  const real = processTable(process.platform);
  const lists: ("failed" | "told")[] = [];
  const processes: ProcessTable = {
    canTerminate: real.canTerminate,
    birthOf: (pid) => real.birthOf(pid),
    killAtOnce: (run) => real.killAtOnce?.(run),
    cgroups: real.cgroups,
    processesOf(run) {
      const isFailing = lists.length < times;
      lists.push(isFailing ? "failed" : "told");
      return isFailing ? noFile() : real.processesOf(run);
    },
  };
  return { processes, lists };
}

function noFile(): Promise<never> {
  return Promise.reject(new Error("EMFILE: too many open files, scandir '/proc'"));
}
