import { programPipeline } from "../../service/startedService.ts";
import { campaign } from "../campaign.ts";
import { ChaosService } from "../chaosService.ts";
import { act } from "./acts.ts";
import { NetworkChaos } from "./networkChaos.ts";

/** The client's functions and a real service, over a line that delays, cuts, drops, trickles and repeats data. */
export const network = campaign({
  name: "network",
  act,
  mostActs: 30,
  async play(planned, round) {
    await using service = await ChaosService.begin(round);
    await service.write("quick", programPipeline(""));
    await service.ensure();
    await using chaos = await NetworkChaos.begin(service, round);
    for (const one of round.acts(planned)) await chaos.make(one);
    await chaos.finish();
  },
});
