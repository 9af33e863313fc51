import { campaign } from "../campaign.ts";
import { storageAct } from "./acts.ts";
import { damageAct } from "./damageAct.ts";
import { StorageChaos } from "./storageChaos.ts";
import { openWorld } from "./world.ts";

/** A real service with a full disk, a read-only folder, a clock that jumps, and damaged files. */
export const storage = campaign({
  name: "storage",
  act: storageAct,
  mostActs: 24,
  async play(planned, round) {
    await using world = await openWorld(round, planned.length);
    const chaos = await StorageChaos.begin(world, round);
    for (const act of round.acts(planned)) {
      if (act.act === "damage") await damageAct(act, world, chaos, round);
      else await chaos.make(act);
    }
    await chaos.finish();
  },
});
