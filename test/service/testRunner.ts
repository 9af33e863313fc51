import { loopbackFetch } from "../../src/client/service/loopbackFetch.ts";
import { systemClock } from "../../src/machine/clock.ts";
import { RunnerApi } from "../../src/team/runnerMachine/runnerApi.ts";
import { type RunnerMachineOptions, runMachine } from "../../src/team/runnerMachine/runnerMachine.ts";
import { unpackSnapshot } from "../../src/team/runnerMachine/unpackSnapshot.ts";
import { lateRunnerPath } from "./programs.ts";

/** A runner of a service, in this process, until it is drained; one slot and a short grace where nothing else is said. */
export function runRunner(
  service: { readonly url: string; readonly apiKey: string },
  draining: AbortSignal,
  others: Partial<RunnerMachineOptions> = {},
): Promise<void> {
  const { url, apiKey } = service;
  const api = new RunnerApi({ baseUrl: new URL(url), apiKey, fetch: loopbackFetch(), clock: systemClock });
  const program = { execPath: process.execPath, runnerPath: lateRunnerPath, env: process.env };
  return runMachine(
    {
      ...{ api, program, clock: systemClock, log: () => {}, label: "tests", slots: 1, isOnce: false },
      ...{ unpack: unpackSnapshot, graceMilliseconds: 500, onRegistered: () => {}, ...others },
    },
    draining,
  );
}
