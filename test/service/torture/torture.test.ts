import assert from "node:assert/strict";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilCancelled } from "../startedService.ts";
import { servedProcess } from "./servedProcess.ts";
import { Torture, torments } from "./torture.ts";

/** More for a longer search, as `TORMENTS=1000`; `TORTURE_SEED` does the same again. */
const count = Number(process.env["TORMENTS"] ?? 120);
const seed = Number(process.env["TORTURE_SEED"] ?? Date.now() % 2 ** 31);

/** Ends only when it is killed, and so does the process that it has left to itself. */
const stubborn = `process.on("SIGTERM", () => {});
const child = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
require("node:child_process").spawn(process.execPath, ["-e", child], { detached: true, stdio: "inherit" });
${untilCancelled}`;

describe("a service that is tormented", function () {
  this.timeout(count * 5_000);
  // What lives is looked up in every process's environment, which Linux alone shows.
  itOn("linux", "keeps what it has promised, over kill -9 of itself and of its runners", async () => {
    await using served = await servedProcess();
    await served.write("quick", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled));
    await served.write("stubborn", programPipeline(stubborn));
    const torture = new Torture(served, [
      await served.member("one", { parallelRuns: 1, runsPerDay: 10 }),
      await served.member("two", { parallelRuns: 2, runsPerDay: 50 }),
    ]);
    try {
      for (const torment of torments(count, seed)) await torture.make(torment);
      const { runs } = await torture.finish();
      assert(runs > 0);
    } catch (error) {
      throw new Error(`TORTURE_SEED=${seed} TORMENTS=${count}\n${served.log.slice(-2_000)}`, {
        cause: error,
      });
    }
  });
});
