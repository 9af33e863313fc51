import { programPipeline } from "../../service/startedService.ts";
import { campaign } from "../campaign.ts";
import { TormentedService } from "../tormentedService.ts";
import { act } from "./acts.ts";
import { NetworkTorment } from "./networkTorment.ts";

/** What the faces ask a real service with, over a line that delays, cuts, swallows, dribbles and repeats what passes. */
export const network = campaign({
  name: "network",
  act,
  mostActs: 30,
  async play(planned, round) {
    await using service = await TormentedService.begin(round);
    await service.write("quick", programPipeline(""));
    await service.ensure();
    await using torment = await NetworkTorment.begin(service, round);
    for (const one of round.acts(planned)) await torment.make(one);
    await torment.finish();
  },
});
