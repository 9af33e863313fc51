import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../../../scripts/process/findProcesses.ts";
import { ChaosService } from "../../chaos/chaosService.ts";
import { checkAlways, checkCount, checkPlaceIsFree } from "../../chaos/invariants.ts";
import { playRound } from "../../chaos/round.ts";
import { ToolCalls } from "../../chaos/toolCalls.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline } from "../../service/startedService.ts";

/** How many tools at once; `npm run crowd` has 200, or as many as `CROWD` says. */
const size = Number(process.env["CROWD"] ?? 10);
const freeTier = { parallelRuns: 1, runsPerDay: 50 } as const;

describe("a crowd of tools", function () {
  this.timeout(600_000);
  itOn("linux", "starts one service, and each has its run or is refused by a limit", () =>
    playRound("crowd", async (round) => {
      // Where no service runs, all come in the same moment: each wants a run of its own.
      await using service = await ChaosService.begin(round);
      const machine = await service.member("This machine", freeTier);
      const tools = new ToolCalls(service, round);
      const names = Array.from({ length: size }, (_, index) => `tool-${index}`);
      for (const name of names) await service.write(name, programPipeline(""));
      await service.write("quick", programPipeline(""));
      for (const name of names) tools.make(["run", name], name);
      while (tools.living.length > 0) {
        await checkAlways(service, [machine], round);
        const services = (await findProcesses(round.environment)).filter(
          ({ pid, words }) => pid !== process.pid && words.includes("--idle-exit"),
        );
        round.check(services.length <= size, "more services than tools", services.length);
        await pause(200, undefined, { signal: round.signal });
      }
      const rows = await checkAlways(service, [machine], round);
      const ends = Map.groupBy(tools.all, ({ end }) => end?.exitCode ?? -1);
      round.trace("ends", Object.fromEntries([...ends].map(([code, { length }]) => [code, length])));
      tools.check(rows, rows.length >= freeTier.runsPerDay);
      round.check(
        rows.length > 0 && rows.length <= freeTier.runsPerDay,
        "other runs than may be",
        rows.length,
      );
      // With nothing to kill them, no answer is an excuse: each had its run, or a limit refused it.
      round.checkSame(
        [...ends.keys()].filter((code) => ![0, 5].includes(code)),
        [],
        "a tool had no answer",
      );
      await service.ensure();
      const serving = (await findProcesses(round.environment)).filter(({ words }) =>
        words.includes("--idle-exit"),
      );
      round.checkSame(serving.length, 1, "other services than one");
      await checkCount(service, machine, round);
      await checkPlaceIsFree(service, machine, round);
    }),
  );
});
