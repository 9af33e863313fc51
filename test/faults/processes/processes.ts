import { servedProcess } from "../../service/servedProcess.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { campaign } from "../campaign.ts";
import { Torment, torment } from "./torment.ts";

/** Ends only when it is killed, and so does the process that it has left to itself. */
const stubborn = `process.on("SIGTERM", () => {});
const child = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
require("node:child_process").spawn(process.execPath, ["-e", child], { detached: true, stdio: "inherit" });
${untilCancelled}`;

/** A real service and its runs, over kill -9 of the service and of runners. */
export const processes = campaign({
  name: "processes",
  act: torment,
  mostActs: 60,
  async play(planned, round) {
    await using served = await servedProcess({ environment: round.environment });
    await served.write("quick", programPipeline(""));
    await served.write("long", programPipeline(untilCancelled));
    await served.write("stubborn", programPipeline(stubborn));
    const members = [
      await served.member("one", { parallelRuns: 1, runsPerDay: 10 }),
      await served.member("two", { parallelRuns: 2, runsPerDay: 50 }),
    ];
    const tormented = new Torment(served, members, round);
    for (const act of round.acts(planned)) await tormented.make(act);
    await tormented.finish();
  },
});
