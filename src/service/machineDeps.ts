import { PipelineError } from "../contract/errors.ts";
import type { Clock } from "../machine/clock.ts";
import type { Log } from "../machine/log.ts";
import type { ReadyRunner } from "../runner/launch/readyRunner.ts";
import type { Core } from "./core.ts";
import type { MachineDeps } from "./http/appDeps.ts";
import type { OpenReplies } from "./http/openReplies.ts";
import { unavailable } from "./http/reply.ts";
import { handOver } from "./lifecycle/ending.ts";
import { readActive } from "./store/runs.ts";

/** See `ServeOptions`. */
interface MachineOptions {
  readonly log: Log;
  readonly idleSeconds?: number | undefined;
  readonly launch?: unknown;
}

export interface MachineParts {
  readonly core: Core;
  readonly replies: OpenReplies;
  readonly clock: Clock;
  readonly stopping: AbortController;
  readonly runners: ReadyRunner;
  readonly keyId: string;
}

/** What this machine's own faces may ask of the service itself. */
export function machineDeps(
  { idleSeconds, log, launch }: MachineOptions,
  { core: { db, runs, admission }, replies, clock, stopping, runners, keyId }: MachineParts,
): MachineDeps {
  const startedAt = new Date(clock.now()).toISOString();
  const state = async () => ({
    startedAt,
    runs: await readActive(db, runs.ids()),
    waiting: admission.waiting,
  });
  const leaveForNext = handOver({
    endsByItself: idleSeconds !== undefined,
    isBusy: (changing) => runs.count + admission.waiting > 0 || replies.changing > changing,
    clock,
    leave: () => {
      log("info", "leaving for another service");
      stopping.abort();
    },
  });
  return {
    keyId,
    state,
    handOver: leaveForNext,
    whyUnrunnable() {
      const removed = launch === undefined ? runners.removed : undefined;
      if (removed === undefined) return undefined;
      const message = `This service (process ${process.pid}) can begin no run any more, since ${removed} was removed.`;
      if (leaveForNext() === "never")
        return new PipelineError("internal", message, { next: "End it, and start it again." });
      // Whoever asks again finds, or starts, the next service.
      return unavailable(message);
    },
    async stop() {
      const ending = await state();
      log("info", "stopping on request", { runs: ending.runs.length, waiting: ending.waiting });
      stopping.abort();
      await runs.stopAll();
      return ending;
    },
  };
}
