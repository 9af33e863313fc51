import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { campaign } from "../campaign.ts";
import { ChaosService } from "../chaosService.ts";
import { act } from "./acts.ts";
import { ProcessChaos } from "./processChaos.ts";

/** Ignores SIGTERM, and so does the orphan that it leaves. */
const stubborn = `process.on("SIGTERM", () => {});
const child = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
require("node:child_process").spawn(process.execPath, ["-e", child], { detached: true, stdio: "inherit" });
${untilCancelled}`;

const talking =
  "let n = 0; setInterval(() => { console.log('line ' + n++); if (n > 60) process.exit(); }, 20);";

/**
 * A real service, its runners and the tool, over kill -9, signals and stops of each at any point.
 */
export const processes = campaign({
  name: "processes",
  act,
  mostActs: 40,
  async play(planned, round) {
    await using service = await ChaosService.begin(round);
    await service.write("quick", programPipeline("console.log('quick')"));
    await service.write("long", programPipeline(untilCancelled, "5s"));
    await service.write("talking", programPipeline(talking, "5s"));
    await service.write("stubborn", programPipeline(stubborn, "5s"));
    await service.ensure();
    const chaos = await ProcessChaos.begin(service, round);
    for (const one of round.acts(planned)) await chaos.make(one);
    await chaos.finish();
  },
});
