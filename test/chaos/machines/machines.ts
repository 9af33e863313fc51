import { postgresFolder } from "../../postgres/installPostgres.ts";
import { campaign } from "../campaign.ts";
import { act, type MachineAct } from "./acts.ts";
import { MachineChaos } from "./machineChaos.ts";

/** Many servers and runners on one PostgreSQL, over kill -9, SIGSTOP and upgrades of any, broken lines, and crashes of the database. */
export const machines = campaign<MachineAct>({
  name: "machines",
  act,
  mostActs: 60,
  async play(planned, round) {
    const native = postgresFolder();
    if (native === undefined) return;
    await using chaos = await MachineChaos.begin(native, round);
    for (const one of round.acts(planned)) await chaos.make(one);
    await chaos.finish();
  },
});
